import { MAX_UNREAD_BYTES, UNREAD_MS } from "../limits.ts";

/** Options of {@linkcode UnreadResponses}. */
export interface UnreadResponsesOptions {
  /**
   * Bytes of an owner's responses that clients have stopped to read.
   *
   * @default 32 MiB
   */
  readonly maxBytes?: number | undefined;
  /**
   * Milliseconds without a read after which a client counts as stopped.
   *
   * @default 5_000
   */
  readonly afterMs?: number | undefined;
}

/** A response that the client has not read yet. */
interface Unread {
  readonly owner: string;
  readonly bytes: number;
  readonly disconnect: () => void;
  readMs: number;
}

/** A response that counts as unread until disposed. */
export interface UnreadResponse extends Disposable {
  /** Records that the client has read a part of the response. */
  noteRead(): void;
}

/**
 * Bounds the memory of unread responses. A client that has stopped to read is disconnected at once if the owner has
 * too many bytes of such responses; the client that has read nothing for longest is the first. So the clients that
 * read keep their connections, and a single slow client has the whole time of a read.
 */
export class UnreadResponses {
  readonly #maxBytes: number;
  readonly #afterMs: number;
  /** Responses of all owners, in the order of their last reads. */
  readonly #responses = new Set<Unread>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ maxBytes = MAX_UNREAD_BYTES, afterMs = UNREAD_MS }: UnreadResponsesOptions = {}) {
    this.#maxBytes = maxBytes;
    this.#afterMs = afterMs;
  }

  /** Counts a response of an owner. `disconnect` closes the connection of the client. */
  add(owner: string, { bytes, disconnect }: Pick<Unread, "bytes" | "disconnect">): UnreadResponse {
    const response: Unread = { owner, bytes, disconnect, readMs: performance.now() };
    this.#responses.add(response);
    this.#timer ??= this.#awaitCheck();
    return {
      noteRead: () => {
        response.readMs = performance.now();
        if (this.#responses.delete(response)) this.#responses.add(response);
      },
      [Symbol.dispose]: () => {
        this.#responses.delete(response);
        if (this.#responses.size > 0) return;
        clearTimeout(this.#timer);
        this.#timer = undefined;
      },
    };
  }

  #awaitCheck(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#timer = undefined;
      this.#check();
      if (this.#responses.size > 0) this.#timer ??= this.#awaitCheck();
    }, this.#afterMs / 2);
    Deno.unrefTimer(timer);
    return timer;
  }

  /** Disconnects the clients that have stopped to read, of each owner those beyond the bytes of an owner. */
  #check(): void {
    const before = performance.now() - this.#afterMs;
    const bytes = new Map<string, number>();
    for (const response of [...this.#responses].reverse()) {
      const { owner, readMs, disconnect } = response;
      if (readMs > before) continue;
      const later = bytes.get(owner);
      const kept = (later ?? 0) + response.bytes;
      if (later === undefined || kept <= this.#maxBytes) bytes.set(owner, kept);
      else disconnect();
    }
  }
}
