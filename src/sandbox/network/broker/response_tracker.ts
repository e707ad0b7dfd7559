import type { RequestListener } from "./request_collector.ts";
import { RequestError, type RequestHead } from "./request_head.ts";
import { ResponseReader } from "./response_reader.ts";

/** Maximum number of requests whose responses have not come. */
const MAX_WAITING = 1_000;

/** Knows whether every request of a connection has its whole response. */
export class ResponseTracker implements RequestListener {
  readonly #methods: string[] = [];
  readonly #responses = new ResponseReader({
    keepsBodies: false,
    nextMethod: () => this.#methods[0],
    onResponse: () => void this.#methods.shift(),
  });
  #isReadable = true;

  /** True if no response is missing or unfinished. False once a response was malformed. */
  get isIdle(): boolean {
    return this.#isReadable && this.#methods.length === 0 && this.#responses.isBetween;
  }

  /** @throws {RequestError} if too many requests have no response. */
  onHead({ method }: RequestHead): void {
    if (this.#methods.length === MAX_WAITING) {
      throw new RequestError(`${MAX_WAITING} requests wait for their responses already`);
    }
    this.#methods.push(method);
  }

  onBody(): void {}

  onEnd(): void {}

  /** Adds bytes of the server. */
  push(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.#isReadable) return;
    try {
      this.#responses.push(bytes);
    } catch {
      this.#isReadable = false; // the program gets the bytes, and what needs whole responses is refused
    }
  }
}
