import {
  type Exchange,
  type ExchangeMatch,
  MAX_BODY_BYTES,
  type RecordedResponse,
  toRecordedRequest,
  type WholeRequest,
} from "./exchange.ts";
import { RequestCollector, type RequestListener } from "./request_collector.ts";
import { RequestError } from "./request_head.ts";
import { ResponseReader } from "./response_reader.ts";

/** Options of {@linkcode Recorder}. */
export interface RecorderOptions {
  readonly match: ExchangeMatch;
  /** Returns scheme, host and port of the connection. */
  readonly origin: () => string;
  readonly onExchange: (exchange: Exchange) => void;
  /** Returns a response without secrets. */
  readonly scrub: (response: RecordedResponse) => RecordedResponse;
}

/** Records the exchanges of a connection. */
export class Recorder {
  /** Receiver of the requests. */
  readonly requests: RequestListener;
  readonly #waiting: WholeRequest[] = [];
  readonly #responses: ResponseReader;

  constructor({ match, origin, onExchange, scrub }: RecorderOptions) {
    this.requests = new RequestCollector((request) => this.#add(request));
    this.#responses = new ResponseReader({
      nextMethod: () => this.#waiting[0]?.head.method,
      onResponse: (response) => {
        const request = this.#waiting.shift();
        if (!request) return;
        onExchange({
          request: toRecordedRequest(request, { origin: origin(), match }),
          response: scrub(response),
        });
      },
    });
  }

  #add(request: WholeRequest): void {
    const bytes = this.#waiting.reduce((sum, { body }) => sum + body.length, request.body.length);
    if (bytes > 2 * MAX_BODY_BYTES) throw new RequestError("too much waits for its responses to be recorded");
    this.#waiting.push(request);
  }

  /** Adds bytes of the server; `undefined` is their end. */
  push(bytes: Uint8Array<ArrayBuffer> | undefined): void {
    if (bytes) this.#responses.push(bytes);
    else this.#responses.end();
  }
}
