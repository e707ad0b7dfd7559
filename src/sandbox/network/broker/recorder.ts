import { type Exchange, type ExchangeMatch, toRecordedRequest, type WholeRequest } from "./exchange.ts";
import { RequestCollector, type RequestListener } from "./request_collector.ts";
import { ResponseReader } from "./response_reader.ts";

/** Options of {@linkcode Recorder}. */
export interface RecorderOptions {
  readonly match: ExchangeMatch;
  /** Returns scheme, host and port of the connection. */
  readonly origin: () => string;
  readonly onExchange: (exchange: Exchange) => void;
}

/** Records the exchanges of a connection. */
export class Recorder {
  /** Receiver of the requests. */
  readonly requests: RequestListener;
  readonly #waiting: WholeRequest[] = [];
  readonly #responses: ResponseReader;

  constructor({ match, origin, onExchange }: RecorderOptions) {
    this.requests = new RequestCollector((request) => this.#waiting.push(request));
    this.#responses = new ResponseReader({
      nextMethod: () => this.#waiting[0]?.head.method,
      onResponse: (response) => {
        const request = this.#waiting.shift();
        if (!request) return;
        onExchange({ request: toRecordedRequest(request, { origin: origin(), match }), response });
      },
    });
  }

  /** Adds bytes of the server; `undefined` is their end. */
  push(bytes: Uint8Array<ArrayBuffer> | undefined): void {
    if (bytes) this.#responses.push(bytes);
    else this.#responses.end();
  }
}
