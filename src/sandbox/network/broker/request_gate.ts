import type { RequestListener } from "./request_collector.ts";
import { MAX_HEAD_BYTES, parseRequestHead, RequestError, type RequestHead } from "./request_head.ts";

/** Options of {@linkcode RequestGate}. */
export interface RequestGateOptions {
  readonly host: string;
  readonly port: number;
  /**
   * Methods that requests may have.
   *
   * @default all
   */
  readonly methods?: readonly string[] | undefined;
  /** Receivers of the requests that pass. */
  readonly listeners?: readonly RequestListener[] | undefined;
  /**
   * Returns whether all earlier requests have their responses, as a request for WebSocket needs.
   *
   * @default such requests are refused
   */
  readonly isIdle?: (() => boolean) | undefined;
  /**
   * Returns the head that passes in place of a head of the program, both without the empty line.
   *
   * @default heads pass as they are
   */
  readonly rewrite?: ((head: string) => string) | undefined;
}

const MAX_CHUNK_LINE = 18;
const CHUNK_SIZE = /^[\da-f]{1,12}$/i;
/** First line of a request, before its line feed. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r$/;
const EMPTY = new Uint8Array(0);

/**
 * Passes on the requests of a connection whose framing is unambiguous, and whose host and method the profile lists.
 * A head passes when it is complete.
 */
export class RequestGate {
  readonly #options: RequestGateOptions;
  /** Bytes of a head or of a line that is not complete. */
  #held: Uint8Array<ArrayBuffer> = EMPTY;
  #state: "head" | "body" | "chunk" | "chunkEnd" | "trailer" | "upgrade" | "opaque" = "head";
  #bodyBytes = 0;
  #isChunked = false;
  /** The head to pass in place of the one that was taken. */
  #rewritten: Uint8Array | undefined;

  constructor(options: RequestGateOptions) {
    this.#options = options;
  }

  /** True while the gate waits for the response to a request for WebSocket. */
  get isUpgrading(): boolean {
    return this.#state === "upgrade";
  }

  /** Ends the wait for the response to a request for WebSocket. Returns the bytes that may pass now. */
  endUpgrade({ isAccepted }: { isAccepted: boolean }): Uint8Array[] {
    if (this.#state !== "upgrade") return [];
    this.#state = isAccepted ? "opaque" : "head";
    return this.push(EMPTY);
  }

  /**
   * Adds bytes of the program, and returns those that may pass.
   *
   * @throws {RequestError} if a request must not pass. The connection must then be closed.
   */
  push(bytes: Uint8Array<ArrayBuffer>): Uint8Array[] {
    let rest = this.#held.length === 0 ? bytes : join(this.#held, bytes);
    this.#held = EMPTY;
    const passed: Uint8Array[] = [];
    while (rest.length > 0) {
      const count = this.#take(rest);
      if (count === 0) {
        this.#held = rest.slice();
        break;
      }
      passed.push(this.#rewritten ?? rest.subarray(0, count));
      this.#rewritten = undefined;
      rest = rest.subarray(count);
    }
    return passed;
  }

  /** Returns how many bytes may pass; 0 if more are needed. */
  #take(rest: Uint8Array): number {
    switch (this.#state) {
      case "opaque":
        return rest.length;
      case "upgrade":
        return this.#wait(rest);
      case "head":
        return this.#takeHead(rest);
      case "body":
        return this.#takeBody(rest);
      case "chunk":
        return this.#takeLine(rest, (line) => this.#beginChunk(line));
      case "chunkEnd":
      case "trailer":
        return this.#takeLine(rest, (line) => this.#endChunk(line));
    }
  }

  #wait(rest: Uint8Array): number {
    if (rest.length > MAX_HEAD_BYTES) throw new RequestError("it goes on before its response");
    return 0;
  }

  #takeHead(rest: Uint8Array): number {
    const end = findHeadEnd(rest);
    if (end < 0 ? rest.length > MAX_HEAD_BYTES : end > MAX_HEAD_BYTES) {
      throw new RequestError(`its head has more than ${MAX_HEAD_BYTES} bytes`);
    }
    if (end < 0) {
      this.#requireHttp(rest);
      return 0;
    }
    const text = latin1(rest.subarray(0, end));
    this.#begin(parseRequestHead(text, this.#options));
    const { rewrite } = this.#options;
    if (rewrite) this.#rewritten = Uint8Array.from(`${rewrite(text)}\r\n\r\n`, (each) => each.charCodeAt(0));
    return end + 4;
  }

  /** Refuses bytes that cannot become a request at once, as their head may never end. */
  #requireHttp(rest: Uint8Array): void {
    const end = rest.indexOf(10);
    const line = latin1(end < 0 ? rest.subarray(0, 64) : rest.subarray(0, end));
    const isPossible = end < 0 ? /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?: |$)/.test(line) : REQUEST_LINE.test(line);
    if (isPossible) return;
    throw new RequestError("it is not HTTP/1.1: list the host with 'tcp://' for other protocols");
  }

  #begin(head: RequestHead): void {
    const { methods } = this.#options;
    if (methods && !methods.includes(head.method)) {
      throw new RequestError(`its method must be one of ${methods.join(", ")}: it is ${head.method}`);
    }
    if (head.isUpgrade) this.#requireUpgradable(head);
    this.#notify((listener) => listener.onHead(head));
    this.#isChunked = head.body === "chunked";
    this.#bodyBytes = head.body === "chunked" ? 0 : head.body;
    if (head.isUpgrade) this.#state = "upgrade";
    else if (this.#isChunked) this.#state = "chunk";
    else if (this.#bodyBytes > 0) this.#state = "body";
    else this.#endRequest();
  }

  #endRequest(): void {
    this.#state = "head";
    this.#notify((listener) => listener.onEnd());
  }

  #notify(call: (listener: RequestListener) => void): void {
    for (const listener of this.#options.listeners ?? []) call(listener);
  }

  #requireUpgradable({ body, method }: RequestHead): void {
    if (body !== 0 || method !== "GET" || !this.#options.isIdle?.()) {
      throw new RequestError(
        "a request for WebSocket must have GET and no body, and follow all earlier responses",
      );
    }
  }

  #takeBody(rest: Uint8Array): number {
    const count = Math.min(rest.length, this.#bodyBytes);
    this.#bodyBytes -= count;
    this.#notify((listener) => listener.onBody(rest.subarray(0, count)));
    if (this.#bodyBytes === 0 && this.#isChunked) this.#state = "chunkEnd";
    else if (this.#bodyBytes === 0) this.#endRequest();
    return count;
  }

  #takeLine(rest: Uint8Array, take: (line: string) => void): number {
    const text = latin1(rest.subarray(0, MAX_CHUNK_LINE));
    const end = text.indexOf("\r\n");
    if (end < 0 && text.length === MAX_CHUNK_LINE) {
      throw new RequestError("a line of its chunks is malformed");
    }
    if (end < 0) return 0;
    take(text.slice(0, end));
    return end + 2;
  }

  #beginChunk(line: string): void {
    if (!CHUNK_SIZE.test(line)) throw new RequestError("the size of a chunk is malformed");
    this.#bodyBytes = parseInt(line, 16);
    this.#state = this.#bodyBytes > 0 ? "body" : "trailer";
  }

  #endChunk(line: string): void {
    if (line !== "") throw new RequestError("its chunks have a trailer, or do not end where they must");
    if (this.#state === "trailer") this.#endRequest();
    else this.#state = "chunk";
  }
}

/** Returns where the empty line of a head starts, -1 if it is not there. */
export function findHeadEnd(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(13); at >= 0 && at + 3 < bytes.length; at = bytes.indexOf(13, at + 1)) {
    if (bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) return at;
  }
  return -1;
}

/** Returns text with a character for each byte. */
export function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) {
    text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  }
  return text;
}

function join(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(one.length + other.length);
  joined.set(one);
  joined.set(other, one.length);
  return joined;
}
