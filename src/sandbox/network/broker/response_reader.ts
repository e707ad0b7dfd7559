import { EgressError } from "./egress_policy.ts";
import { MAX_BODY_BYTES, type RecordedResponse } from "./exchange.ts";
import { joinAll } from "./request_collector.ts";
import { findHeadEnd, latin1 } from "./request_gate.ts";
import { MAX_HEAD_BYTES } from "./request_head.ts";

const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/;
const CHUNK_LINE = /^([\da-f]{1,12})[\t ]*(?:;.*)?$/i;
/** Headers of the framing, which a replay writes itself. */
const FRAMING: readonly string[] = ["transfer-encoding", "content-length", "connection", "keep-alive"];
const EMPTY = new Uint8Array(0);

/** Options of {@linkcode ResponseReader}. */
export interface ResponseReaderOptions {
  /** Returns the method of the request that the next response belongs to. */
  readonly nextMethod: () => string | undefined;
  readonly onResponse: (response: RecordedResponse) => void;
  /**
   * False if only the ends of responses are of interest: bodies are then empty and may have any size.
   *
   * @default true
   */
  readonly keepsBodies?: boolean | undefined;
}

/** Reads the responses of a server whole. */
export class ResponseReader {
  readonly #options: ResponseReaderOptions;
  #held: Uint8Array<ArrayBuffer> = EMPTY;
  #state: "head" | "length" | "chunk" | "chunkEnd" | "trailer" | "close" = "head";
  #isChunked = false;
  #left = 0;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #head: Omit<RecordedResponse, "body"> | undefined;

  constructor(options: ResponseReaderOptions) {
    this.#options = options;
  }

  /** True before the first byte of a response. */
  get isBetween(): boolean {
    return this.#state === "head" && this.#held.length === 0;
  }

  /**
   * Adds bytes of the server.
   *
   * @throws {EgressError} if a response is malformed or too large to record.
   */
  push(bytes: Uint8Array<ArrayBuffer>): void {
    let rest = this.#held.length === 0 ? bytes : joinAll([this.#held, bytes]);
    this.#held = EMPTY;
    while (rest.length > 0) {
      const count = this.#take(rest);
      if (count === 0) break;
      rest = rest.subarray(count);
    }
    this.#held = rest.slice();
  }

  /**
   * Reads the end of the connection.
   *
   * @throws {EgressError} if it is inside a response.
   */
  end(): void {
    if (this.#state === "close") return this.#finish();
    if (this.#state !== "head" || this.#held.length > 0) throw malformed("it has no end");
  }

  #take(rest: Uint8Array<ArrayBuffer>): number {
    if (this.#state === "head") return this.#takeHead(rest);
    if (this.#state === "length" || this.#state === "close") return this.#takeBody(rest);
    return this.#takeLine(rest);
  }

  #takeHead(rest: Uint8Array<ArrayBuffer>): number {
    const end = findHeadEnd(rest);
    if (end > MAX_HEAD_BYTES || (end < 0 && rest.length > MAX_HEAD_BYTES)) {
      throw malformed("its head is too long");
    }
    if (end < 0) return 0;
    const [line = "", ...lines] = latin1(rest.subarray(0, end)).split("\r\n");
    const [, code, reason = ""] = STATUS_LINE.exec(line) ?? [];
    if (code === undefined) throw malformed("it is not HTTP/1.1");
    if (!code.startsWith("1")) this.#begin(Number(code), reason, lines.map(splitHeader));
    return end + 4;
  }

  #begin(status: number, reason: string, headers: (readonly [string, string])[]): void {
    const method = this.#options.nextMethod();
    if (method === undefined) throw malformed("it answers no request");
    const value = (name: string) => headers.find(([each]) => each === name)?.[1];
    const isBodiless = method === "HEAD" || status === 204 || status === 304;
    const isFraming = (name: string) =>
      FRAMING.includes(name) && !(method === "HEAD" && name === "content-length");
    this.#head = { status, reason, headers: headers.filter(([name]) => !isFraming(name)) };
    this.#pieces = [];
    this.#bytes = 0;
    const length = value("content-length");
    if (isBodiless) return this.#finish();
    if (value("transfer-encoding")?.toLowerCase() === "chunked") this.#state = "chunk";
    else if (length === undefined) this.#state = "close";
    else this.#beginLength(length);
  }

  #beginLength(length: string): void {
    if (!/^\d{1,15}$/.test(length)) throw malformed("its length is not a number");
    this.#left = Number(length);
    this.#state = "length";
    if (this.#left === 0) this.#finish();
  }

  #takeBody(rest: Uint8Array): number {
    const count = this.#state === "close" ? rest.length : Math.min(rest.length, this.#left);
    this.#keep(rest.subarray(0, count));
    if (this.#state === "close") return count;
    this.#left -= count;
    if (this.#left === 0 && this.#isChunked) this.#state = "chunkEnd";
    else if (this.#left === 0) this.#finish();
    return count;
  }

  #keep(piece: Uint8Array): void {
    if (this.#options.keepsBodies === false) return;
    this.#bytes += piece.length;
    this.#pieces.push(piece.slice());
    if (this.#bytes <= MAX_BODY_BYTES) return;
    throw new EgressError(
      "EFBIG",
      `a response has more than ${MAX_BODY_BYTES} bytes, which cannot be recorded`,
    );
  }

  #takeLine(rest: Uint8Array): number {
    const end = latin1(rest.subarray(0, 4096)).indexOf("\r\n");
    if (end < 0 && rest.length >= 4096) throw malformed("a line of its chunks is too long");
    if (end < 0) return 0;
    const line = latin1(rest.subarray(0, end));
    if (this.#state === "chunk") this.#beginChunk(line);
    else if (this.#state === "chunkEnd") this.#state = "chunk";
    else if (line === "") this.#finish();
    return end + 2;
  }

  #beginChunk(line: string): void {
    const [, size] = CHUNK_LINE.exec(line) ?? [];
    if (size === undefined) throw malformed("the size of a chunk is not a number");
    this.#left = parseInt(size, 16);
    this.#isChunked = this.#left > 0;
    this.#state = this.#left > 0 ? "length" : "trailer";
  }

  #finish(): void {
    this.#state = "head";
    this.#isChunked = false;
    if (this.#head) this.#options.onResponse({ ...this.#head, body: joinAll(this.#pieces).toBase64() });
    this.#head = undefined;
    this.#pieces = [];
  }
}

function splitHeader(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  if (colon < 1) throw malformed("a header has no name");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

function malformed(reason: string): EgressError {
  return new EgressError("EIO", `a response cannot be recorded: ${reason}`);
}
