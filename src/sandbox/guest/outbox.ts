/**
 * Frames that wait to be sent, in memory that a worker shares with the supervisor. The worker adds frames; the worker
 * or the supervisor takes all of them at once. A lock keeps the two apart: the worker waits for it, the supervisor
 * never does.
 *
 * Layout: five 32-bit words (`lock`, `length`, `calls`, `paused`, `wanted`), then the bytes. The worker increments
 * `calls` to notify the supervisor. While `paused` is set, nothing is to be sent. `wanted` reports that the supervisor
 * found the lock taken.
 */

import { FRAME_HEAD_BYTES, FrameKind, payloadLength, writeFrameHead } from "../protocol.ts";
import { throwIfKilled } from "./ring.ts";

const WORDS = 5;
const HEAD_BYTES = 4 * WORDS;
const [LOCK, LENGTH, CALLS, PAUSED, WANTED] = [0, 1, 2, 3, 4] as const;
const OUTBOX_BYTES = 256 * 1024;

/** The supervisor's end. It trusts none of the words, and never blocks. */
export class Outbox {
  readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(HEAD_BYTES + OUTBOX_BYTES);
  readonly #words = new Int32Array(this.buffer, 0, WORDS);
  readonly #bytes = new Uint8Array(this.buffer, HEAD_BYTES);

  /**
   * Passes all bytes to `send`, and empties the outbox. Does nothing while the worker has the lock: it then sends the
   * bytes itself, or notifies this end.
   */
  drain(send: (bytes: Uint8Array) => void): void {
    Atomics.store(this.#words, WANTED, 1);
    if (Atomics.compareExchange(this.#words, LOCK, 0, 1) !== 0) return;
    Atomics.store(this.#words, WANTED, 0);
    const length = Math.min(Atomics.load(this.#words, LENGTH) >>> 0, OUTBOX_BYTES);
    try {
      if (length > 0) send(this.#bytes.slice(0, length));
    } finally {
      Atomics.store(this.#words, LENGTH, 0);
      Atomics.store(this.#words, LOCK, 0);
      Atomics.notify(this.#words, LENGTH);
      Atomics.notify(this.#words, LOCK);
    }
  }

  /** Sets whether the worker may send. */
  setPaused(isPaused: boolean): void {
    Atomics.store(this.#words, PAUSED, Number(isPaused));
    Atomics.notify(this.#words, PAUSED);
  }

  /** Wakes a worker that waits for room. */
  wake(): void {
    Atomics.notify(this.#words, LENGTH);
    Atomics.notify(this.#words, PAUSED);
  }

  /** Returns the number of notifications. Read it before {@linkcode drain}, and pass it to {@linkcode waitCall}. */
  get calls(): number {
    return Atomics.load(this.#words, CALLS);
  }

  /** Resolves after a notification. Returns true if it had to wait, which let this thread run other tasks. */
  async waitCall(seen: number): Promise<boolean> {
    const wait = Atomics.waitAsync(this.#words, CALLS, seen);
    if (wait.async) await wait.value;
    return wait.async;
  }

  /** Ends a wait of this end. */
  cancelWait(): void {
    Atomics.add(this.#words, CALLS, 1);
    Atomics.notify(this.#words, CALLS);
  }
}

/** Parts of a worker's {@linkcode FrameWriter}. */
export interface FrameWriterParts {
  readonly outbox: SharedArrayBuffer;
  /** Bytes that the supervisor sets to interrupt or kill the running code. */
  readonly interrupt: Uint8Array;
  /**
   * Number of the session, and the function that writes to the host. The worker then sends its frames itself.
   *
   * @default the supervisor sends them
   */
  readonly direct?: { readonly session: number; readonly write: (bytes: Uint8Array) => void } | undefined;
}

/** The worker's end: adds whole frames, and sends them. */
export class FrameWriter {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;
  readonly #interrupt: Uint8Array;
  readonly #direct: FrameWriterParts["direct"];
  readonly #head = new Uint8Array(FRAME_HEAD_BYTES);
  /** Start of the last frame, if it is output that more output of its stream may join. */
  #lastOutput = -1;

  constructor({ outbox, interrupt, direct }: FrameWriterParts) {
    this.#words = new Int32Array(outbox, 0, WORDS);
    this.#bytes = new Uint8Array(outbox, HEAD_BYTES);
    this.#interrupt = interrupt;
    this.#direct = direct;
  }

  /** Adds a frame with the bytes from `start` to `end`. Output joins the frame of its stream before it. */
  add(kind: FrameKind, bytes: Uint8Array, start = 0, end: number = bytes.length): void {
    this.#lock();
    if (this.#joins(kind, end - start)) return this.#join(bytes, start, end);
    const session = this.#direct?.session ?? 0;
    writeFrameHead(this.#head, { payloadBytes: end - start, session, kind });
    this.#append(this.#head, 0, FRAME_HEAD_BYTES);
    this.#append(bytes, start, end);
    const length = Atomics.load(this.#words, LENGTH);
    const isWhole = length >= FRAME_HEAD_BYTES + end - start;
    this.#lastOutput = isOutput(kind) && isWhole ? length - (end - start) - FRAME_HEAD_BYTES : -1;
    this.#unlock();
  }

  /** True if more than half of the outbox is used. */
  get isFilling(): boolean {
    return Atomics.load(this.#words, LENGTH) > OUTBOX_BYTES / 2;
  }

  /** Sends all frames, unless the host has paused the session. */
  send(): void {
    if (Atomics.load(this.#words, PAUSED) !== 0) return;
    if (!this.#direct) return this.#notify();
    this.#lock();
    this.#write();
    this.#unlock();
  }

  #joins(kind: FrameKind, count: number): boolean {
    const length = Atomics.load(this.#words, LENGTH);
    const at = this.#lastOutput;
    return at >= 0 && length > at && this.#bytes[at + 6] === kind && length + count <= OUTBOX_BYTES;
  }

  #join(bytes: Uint8Array, start: number, end: number): void {
    const at = this.#lastOutput;
    const payloadBytes = payloadLength(this.#bytes, at) + end - start;
    this.#append(bytes, start, end);
    const [low, high] = [this.#bytes[at + 4] as number, this.#bytes[at + 5] as number];
    const kind = this.#bytes[at + 6] as number;
    writeFrameHead(this.#bytes, { payloadBytes, session: low | high << 8, kind }, at);
    this.#unlock();
  }

  /** Appends bytes. Sends what is there, or waits until the supervisor has, when there is no room. */
  #append(bytes: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end;) {
      const length = Atomics.load(this.#words, LENGTH);
      const count = Math.min(OUTBOX_BYTES - length, end - at);
      if (count === 0) {
        this.#makeRoom();
        continue;
      }
      if (count < SHORT_BYTES) {
        for (let i = 0; i < count; i++) this.#bytes[length + i] = bytes[at + i] as number;
      } else {
        this.#bytes.set(bytes.subarray(at, at + count), length);
      }
      Atomics.store(this.#words, LENGTH, length + count);
      at += count;
    }
  }

  /** Called with the lock, which it gives up while it waits for the supervisor. */
  #makeRoom(): void {
    if (!this.#direct) {
      this.#unlock();
      this.#notify();
      this.#waitWhile(LENGTH, OUTBOX_BYTES);
      return this.#lock();
    }
    if (Atomics.load(this.#words, PAUSED) !== 0) {
      this.#unlock();
      this.#waitWhile(PAUSED, 1);
      this.#lock();
    }
    this.#write();
  }

  #waitWhile(word: typeof LENGTH | typeof PAUSED, value: number): void {
    while (Atomics.load(this.#words, word) === value) {
      throwIfKilled(this.#interrupt);
      Atomics.wait(this.#words, word, value);
    }
  }

  /** Writes all bytes to the host. Called with the lock. */
  #write(): void {
    const length = Atomics.load(this.#words, LENGTH);
    if (length === 0) return;
    Atomics.store(this.#words, LENGTH, 0);
    this.#direct?.write(this.#bytes.subarray(0, length));
  }

  #lock(): void {
    while (Atomics.compareExchange(this.#words, LOCK, 0, 1) !== 0) Atomics.wait(this.#words, LOCK, 1);
  }

  #unlock(): void {
    Atomics.store(this.#words, LOCK, 0);
    if (Atomics.exchange(this.#words, WANTED, 0) !== 0) this.send();
  }

  #notify(): void {
    Atomics.add(this.#words, CALLS, 1);
    Atomics.notify(this.#words, CALLS);
  }
}

/** Shorter pieces are copied in a loop, which is faster than a call of `set`. */
const SHORT_BYTES = 48;

function isOutput(kind: number): boolean {
  return kind === FrameKind.stdout || kind === FrameKind.stderr;
}
