import { concat } from "@std/bytes";
import type { Account, BudgetLease } from "../admission/budget.ts";
import { STREAM_QUEUE_BYTES } from "../limits.ts";
import type { UnreadResponse } from "./unread_responses.ts";

/** Bytes that a client must read within the read timeout. */
export const RESPONSE_CHUNK_BYTES: number = 256 * 1024;
/** Bytes of a response above which the response is sent as the client reads, and counted until then. */
export const AT_ONCE_BYTES: number = 64 * 1024;
/** Content types of streamed responses; all others are sent as a whole. */
const STREAMED = /^(text\/(event-stream|csv)|application\/(x-ndjson|jsonl|connect\+(proto|json)))/;

/** Options of {@linkcode toHeldResponse}. */
export interface HeldResponseOptions {
  /** Memory that the response takes. */
  readonly lease: BudgetLease;
  /** True to count the bytes of a response that is no stream. */
  readonly measured: boolean;
  /** Called with the bytes of a response that may have to wait for the client. */
  readonly wait?: ((bytes: number) => UnreadResponse | undefined) | undefined;
}

/**
 * Returns a response that holds `lease` until the client has read the response. The lease has the size of the response
 * if that may have to wait for the client.
 *
 * @throws {ServerError} `busy` if the lease cannot grow.
 */
export async function toHeldResponse(
  response: Response,
  { lease, measured, wait }: HeldResponseOptions,
): Promise<Response> {
  const { status, statusText, headers } = response;
  if (response.body === null || status === 101) {
    lease[Symbol.dispose]();
    return response;
  }
  const init = { status, statusText, headers };
  if (!measured || isStream(response)) {
    return new Response(onEnd(response.body, () => lease[Symbol.dispose]()), init);
  }
  const { pieces, length } = await readPieces(response.body, lease);
  headers.set("content-length", String(length));
  if (length <= AT_ONCE_BYTES) {
    lease[Symbol.dispose]();
    return new Response(pieces.length === 1 ? pieces[0] : concat(pieces), init);
  }
  const unread = wait?.(length);
  const free = () => {
    for (const { buffer } of pieces) buffer.transfer(0);
    unread?.[Symbol.dispose]();
    lease[Symbol.dispose]();
  };
  const chunks = chunksOf(pieces, () => unread?.noteRead());
  return new Response(onEnd(ReadableStream.from(chunks), free), init);
}

/** Reads a body. `lease` has the size of a large body. The reader keeps the lock, since a release creates an error. */
async function readPieces(body: ReadableStream<Uint8Array<ArrayBuffer>>, lease: BudgetLease) {
  const reader = body.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      pieces.push(read.value);
      length += read.value.length;
      if (length > AT_ONCE_BYTES) lease.resize(length);
    }
  } catch (error) {
    await reader.cancel(error).catch(() => {}); // a body that failed cannot be cancelled
    throw error;
  }
  return { pieces, length };
}

/** Yields the chunks of a response, and calls back before each of them. */
function* chunksOf(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  onChunk: () => void,
): Generator<Uint8Array<ArrayBuffer>> {
  for (const bytes of pieces) {
    for (let at = 0; at < bytes.length; at += RESPONSE_CHUNK_BYTES) {
      onChunk();
      yield bytes.slice(at, at + RESPONSE_CHUNK_BYTES);
    }
  }
}

/** True if a response is sent while being written, not as a whole. */
export function isStream({ headers }: Response): boolean {
  return STREAMED.test(headers.get("content-type") ?? "");
}

/** Calls back once when a stream has ended, has failed or is cancelled. */
export function onEnd(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  callback: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      callback();
    },
    async cancel(reason) {
      callback();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** The text of a response that the client has not read yet. */
export interface BodyWriter {
  /**
   * Adds text, which is dropped if the client has disconnected.
   *
   * @throws {ServerError} `busy` if the owner has no memory for the text.
   */
  send(text: string): void;
  /** Returns a promise that resolves when there is room for more text; `undefined` if there is room now. */
  room(): Promise<void> | undefined;
}

/** Options of {@linkcode streamBody}. */
export interface StreamBodyOptions {
  /** Aborts the signal of `write`. */
  readonly signal: AbortSignal;
  /** Memory of the owner, which the unread text takes. */
  readonly memory: Account;
}

/**
 * Returns a body that `write` produces while the client reads it. A client that disconnects aborts the signal of
 * `write` and frees the unread text.
 */
export function streamBody(
  write: (body: BodyWriter, signal: AbortSignal) => Promise<void>,
  { signal, memory }: StreamBodyOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const disconnect = new AbortController();
  const queue = new TextQueue(memory.take(0));
  return new ReadableStream({
    start(controller) {
      write(queue, AbortSignal.any([disconnect.signal, signal])).then(
        () => queue.end(),
        (error) => {
          queue[Symbol.dispose]();
          if (!disconnect.signal.aborted) controller.error(error);
        },
      );
    },
    async pull(controller) {
      const text = await queue.read();
      if (text === "") controller.close();
      else controller.enqueue(encoder.encode(text));
    },
    cancel() {
      queue[Symbol.dispose]();
      disconnect.abort(new DOMException("The client has disconnected", "AbortError"));
    },
  }, { highWaterMark: 0 });
}

const encoder = new TextEncoder();
/** Memory of a character, and of a piece beside the characters. */
const [CHARACTER_BYTES, PIECE_BYTES] = [2, 64];

/** Text between a writer and a slower reader. */
class TextQueue implements BodyWriter, Disposable {
  readonly #lease: BudgetLease;
  #pieces: string[] = [];
  #bytes = 0;
  #isEnded = false;
  #isDisposed = false;
  #changed = Promise.withResolvers<void>();
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(lease: BudgetLease) {
    this.#lease = lease;
  }

  send(text: string): void {
    if (this.#isDisposed || text === "") return;
    const bytes = CHARACTER_BYTES * text.length + PIECE_BYTES;
    this.#lease.grow(bytes);
    this.#bytes += bytes;
    this.#pieces.push(text);
    this.#changed.resolve();
  }

  room(): Promise<void> | undefined {
    if (this.#bytes <= STREAM_QUEUE_BYTES) return undefined;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  /** Returns the next text, of bounded length; the empty string at the end. */
  async read(): Promise<string> {
    while (this.#pieces.length === 0 && !this.#isEnded) {
      await this.#changed.promise;
      this.#changed = Promise.withResolvers();
    }
    const text = this.#pieces.join("");
    const end = cutAt(text, RESPONSE_CHUNK_BYTES);
    const rest = text.slice(end);
    this.#pieces = rest === "" ? [] : [rest];
    this.#shrink(rest === "" ? 0 : CHARACTER_BYTES * rest.length + PIECE_BYTES);
    return text.slice(0, end);
  }

  /** Ends the text: nothing is sent afterwards. */
  end(): void {
    this.#isEnded = true;
    this.#changed.resolve();
  }

  /** Drops the text and frees the memory. */
  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#pieces = [];
    this.#shrink(0);
    this.#lease[Symbol.dispose]();
    this.end();
  }

  #shrink(bytes: number): void {
    this.#bytes = bytes;
    this.#lease.resize(bytes);
    if (bytes > STREAM_QUEUE_BYTES / 2) return;
    this.#drained?.resolve();
    this.#drained = undefined;
  }
}

/** Returns the index before `characters` that splits no surrogate pair. */
export function cutAt(text: string, characters: number): number {
  if (text.length <= characters) return text.length;
  const code = text.charCodeAt(characters - 1);
  return code >= 0xd800 && code < 0xdc00 ? characters - 1 : characters;
}
