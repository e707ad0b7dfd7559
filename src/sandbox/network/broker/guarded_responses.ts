import { type RecordedResponse, toResponseBytes } from "./exchange.ts";
import { OutputWindow, type OutputWindowOptions } from "./output_window.ts";
import type { RequestListener } from "./request_collector.ts";
import { RequestError, type RequestHead } from "./request_head.ts";
import { ResponseReader } from "./response_reader.ts";

/** Passes the responses of a connection on when they are whole and without secrets. */
export class GuardedResponses implements RequestListener {
  readonly window: OutputWindow;
  readonly #methods: string[] = [];
  readonly #responses: ResponseReader;

  constructor(scrub: (response: RecordedResponse) => RecordedResponse, options: OutputWindowOptions) {
    this.window = new OutputWindow(options);
    this.#responses = new ResponseReader({
      nextMethod: () => this.#methods[0],
      onResponse: (response) => {
        const method = this.#methods.shift() ?? "";
        this.window.push(toResponseBytes(scrub(response), method));
      },
    });
  }

  /** @throws {RequestError} if the request is for WebSocket, whose messages cannot be searched. */
  onHead({ method, isUpgrade }: RequestHead): void {
    if (isUpgrade) throw new RequestError("a host with secrets cannot continue with WebSocket");
    this.#methods.push(method);
  }

  onBody(): void {}

  onEnd(): void {}

  /** Adds bytes of the server; `undefined` is their end. */
  push(bytes: Uint8Array<ArrayBuffer> | undefined): void {
    if (bytes) return this.#responses.push(bytes);
    this.#responses.end();
    this.window.end();
  }
}
