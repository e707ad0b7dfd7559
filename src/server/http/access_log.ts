import type { MiddlewareHandler } from "hono";
import { type AppEnv, methodOf, routeOf } from "./context.ts";

/** A request and its response, without a token, a path, a body or an address. */
export interface RequestRecord {
  /** Time of the request, in ISO 8601. */
  readonly time: string;
  /** Method; `other` for one that HTTP does not define. */
  readonly method: string;
  /** Template of the route, such as `/v1/sessions/{id}`; `other` if there is none. */
  readonly route: string;
  readonly status: number;
  /** Milliseconds until the response was sent. */
  readonly ms: number;
  /** Bytes of the response that were sent, with its head; without a socket, those that its headers state. */
  readonly bytes: number;
  /** Start of the hash of the token; the empty string without a valid one. */
  readonly owner: string;
}

const OWNER_CHARACTERS = 16;

/** Calls back after each response. */
export function accessRecords(onRequest: (record: RequestRecord) => void): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const time = new Date().toISOString();
    const start = performance.now();
    await next();
    const { status, headers } = c.res;
    const owner = (c.get("owner") ?? "").slice(0, OWNER_CHARACTERS);
    const labels = { method: methodOf(c), route: routeOf(c) };
    const report = (bytes: number) => {
      const ms = Math.round(10 * (performance.now() - start)) / 10;
      onRequest({ time, ...labels, status, ms, bytes, owner });
    };
    if (c.env?.whenSent) c.env.whenSent(report);
    else report(Number(headers.get("content-length") ?? 0));
  };
}

/** Options of {@linkcode AccessLog}. */
export interface AccessLogOptions {
  /** Writes a part of the bytes and returns its length. */
  readonly write: (bytes: Uint8Array) => Promise<number>;
  /** Called with the first error of a write. */
  readonly onError: (error: unknown) => void;
  /**
   * Characters that may wait to be written. Further lines are dropped and counted.
   *
   * @default 1 MiB
   */
  readonly maxCharacters?: number | undefined;
}

const MAX_CHARACTERS = 1024 * 1024;
/** Milliseconds that the remaining lines may take at the end. */
const FLUSH_MS = 1_000;

/**
 * Writes one line of JSON for each request. Requests never wait for it: when the reader of a pipe is slow, lines are
 * dropped, and `{"dropped": n}` takes their place. A write that fails, as to a pipe without a reader, drops its lines.
 */
export class AccessLog implements AsyncDisposable {
  readonly #options: AccessLogOptions;
  #text = "";
  #dropped = 0;
  #hasFailed = false;
  #writing: Promise<void> | undefined;

  constructor(options: AccessLogOptions) {
    this.#options = options;
  }

  /** Adds a line. Never throws. */
  write(record: RequestRecord): void {
    const { maxCharacters = MAX_CHARACTERS } = this.#options;
    const line = `${JSON.stringify(record)}\n`;
    if (this.#text.length + line.length > maxCharacters) this.#dropped++;
    else this.#text += line;
    this.#writing ??= this.#flush();
  }

  /** Waits until all lines are written, for at most a second. */
  async [Symbol.asyncDispose](): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, FLUSH_MS);
    await Promise.race([this.#writing, late.promise]);
    clearTimeout(timer);
  }

  async #flush(): Promise<void> {
    await Promise.resolve(); // the lines of one task are written at once
    while (this.#text !== "" || this.#dropped > 0) {
      const note = this.#dropped > 0 ? `${JSON.stringify({ dropped: this.#dropped })}\n` : "";
      const bytes = new TextEncoder().encode(this.#text + note);
      this.#text = "";
      this.#dropped = 0;
      await this.#writeAll(bytes);
    }
    this.#writing = undefined;
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    const { write, onError } = this.#options;
    try {
      for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await write(rest));
    } catch (error) {
      if (!this.#hasFailed) onError(error);
      this.#hasFailed = true;
    }
  }
}
