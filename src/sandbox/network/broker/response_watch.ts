import { findHeadEnd, latin1 } from "./request_gate.ts";
import { MAX_HEAD_BYTES } from "./request_head.ts";

const STATUS_LINE = /^HTTP\/1\.1 (\d{3})(?: |$)/;
const SWITCHING = 101;

/** Looks for the response to a request for WebSocket in the bytes of a server. */
export class ResponseWatch {
  #held = new Uint8Array(0);

  /** Adds bytes. Returns whether the server accepts WebSocket, once the response is there. */
  push(bytes: Uint8Array): boolean | undefined {
    const joined = new Uint8Array(this.#held.length + bytes.length);
    joined.set(this.#held);
    joined.set(bytes, this.#held.length);
    this.#held = joined;
    for (let end = findHeadEnd(this.#held); end >= 0; end = findHeadEnd(this.#held)) {
      const status = Number(STATUS_LINE.exec(latin1(this.#held.subarray(0, Math.min(end, 64))))?.[1] ?? 0);
      if (status < 100 || status >= 200 || status === SWITCHING) return status === SWITCHING;
      this.#held = this.#held.slice(end + 4);
    }
    return this.#held.length > MAX_HEAD_BYTES ? false : undefined;
  }
}
