import { MAX_BODY_BYTES, type WholeRequest } from "./exchange.ts";
import { RequestError, type RequestHead } from "./request_head.ts";

/** Receiver of the parts of requests as they pass. */
export interface RequestListener {
  onHead(head: RequestHead): void;
  /** A part of the body, without the framing of chunks. */
  onBody(piece: Uint8Array): void;
  onEnd(): void;
}

/** Collects requests whole. */
export class RequestCollector implements RequestListener {
  readonly #onRequest: (request: WholeRequest) => void;
  #head: RequestHead | undefined;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(onRequest: (request: WholeRequest) => void) {
    this.#onRequest = onRequest;
  }

  /** @throws {RequestError} if the request is for WebSocket. */
  onHead(head: RequestHead): void {
    if (head.isUpgrade) throw new RequestError("WebSocket cannot be recorded or replayed");
    this.#head = head;
    this.#pieces = [];
    this.#bytes = 0;
  }

  /** @throws {RequestError} if the body is too large. */
  onBody(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (this.#bytes > MAX_BODY_BYTES) {
      throw new RequestError(`its body has more than ${MAX_BODY_BYTES} bytes, which cannot be recorded`);
    }
    this.#pieces.push(piece.slice());
  }

  onEnd(): void {
    if (this.#head) this.#onRequest({ head: this.#head, body: joinAll(this.#pieces) });
    this.#head = undefined;
  }
}

/** Concatenates pieces. */
export function joinAll(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
