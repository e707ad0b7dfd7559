/**
 * A byte pipe in shared memory from the supervisor, which never blocks, to a worker, which does.
 *
 * Layout: three 32-bit words (`written`, `read`, `calls`), then the bytes. They only grow and wrap at 2³²; the
 * capacity is a power of two. The writer increments `calls` to notify the reader, not once per byte.
 */

const HEAD_BYTES = 16;
const WRITTEN = 0;
const READ = 1;
const CALLS = 2;
/** Shorter pieces are copied in a loop, which is faster than a call of `set`. */
const SHORT_BYTES = 48;

/** An end of the pipe. */
export class Ring {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;
  readonly #mask: number;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, HEAD_BYTES / 4);
    this.#bytes = new Uint8Array(buffer, HEAD_BYTES);
    this.#mask = this.#bytes.length - 1;
  }

  /** Creates a ring that holds `capacity` bytes, a power of two. */
  static create(capacity: number): Ring {
    return new Ring(new SharedArrayBuffer(HEAD_BYTES + capacity));
  }

  /** Returns the number of readable bytes, at most the capacity, even if the other side wrote a false count. */
  available(): number {
    const count = (Atomics.load(this.#words, WRITTEN) - Atomics.load(this.#words, READ)) >>> 0;
    return Math.min(count, this.#bytes.length);
  }

  /** Writes as many bytes as fit now, without a notification. Returns their number. */
  writeSome(source: Uint8Array, start: number, end: number = source.length): number {
    const written = Atomics.load(this.#words, WRITTEN);
    const free = this.#bytes.length - ((written - Atomics.load(this.#words, READ)) >>> 0);
    const count = Math.max(0, Math.min(free, end - start));
    if (count === 0) return 0;
    this.#copyIn(source, start, { at: written & this.#mask, count });
    Atomics.store(this.#words, WRITTEN, (written + count) | 0);
    return count;
  }

  /** Reads the available bytes, at most `target.length`. Returns their number. */
  readSome(target: Uint8Array): number {
    const read = Atomics.load(this.#words, READ);
    const count = Math.min(this.available(), target.length);
    if (count === 0) return 0;
    const at = read & this.#mask;
    const first = Math.min(count, this.#bytes.length - at);
    target.set(this.#bytes.subarray(at, at + first));
    target.set(this.#bytes.subarray(0, count - first), first);
    Atomics.store(this.#words, READ, (read + count) | 0);
    Atomics.notify(this.#words, READ);
    return count;
  }

  /** Blocks until `target` is full. Worker only. */
  fill(target: Uint8Array): void {
    for (let done = 0; done < target.length;) {
      const seen = Atomics.load(this.#words, CALLS);
      const count = this.readSome(target.subarray(done));
      if (count === 0) Atomics.wait(this.#words, CALLS, seen);
      done += count;
    }
  }

  /** Blocks until there is something to read, for at most `ms`. Worker only. */
  wait(ms: number): void {
    const seen = Atomics.load(this.#words, CALLS);
    if (this.available() === 0) Atomics.wait(this.#words, CALLS, seen, ms);
  }

  /** Blocks until {@linkcode Ring.notify}, for at most `ms`. Worker only. */
  waitNotify(ms: number): void {
    Atomics.wait(this.#words, CALLS, Atomics.load(this.#words, CALLS), ms);
  }

  /** Notifies the reader. */
  notify(): void {
    Atomics.add(this.#words, CALLS, 1);
    Atomics.notify(this.#words, CALLS);
  }

  /** Wakes threads that wait at either end, even if there is nothing to read and no room to write. */
  wake(): void {
    this.notify();
    Atomics.notify(this.#words, READ);
  }

  /** Resolves when the reader has made room since `seen`. Returns true if it had to wait. */
  async waitRoom(seen: number): Promise<boolean> {
    const wait = Atomics.waitAsync(this.#words, READ, seen);
    if (wait.async) await wait.value;
    return wait.async;
  }

  /** Number of bytes that the reader has read, modulo 2³². Pass it to {@linkcode Ring.waitRoom}. */
  get read(): number {
    return Atomics.load(this.#words, READ);
  }

  #copyIn(source: Uint8Array, start: number, { at, count }: { at: number; count: number }): void {
    if (count < SHORT_BYTES) {
      for (let i = 0; i < count; i++) this.#bytes[(at + i) & this.#mask] = source[start + i] as number;
      return;
    }
    const first = Math.min(count, this.#bytes.length - at);
    this.#bytes.set(source.subarray(start, start + first), at);
    this.#bytes.set(source.subarray(start + first, start + count), 0);
  }
}

/**
 * Index of the kill flag in a session's interrupt bytes. No guest code clears this flag, while Python clears an
 * interrupt that it has handled.
 */
export const KILL_SWITCH = 1;

/** Throws if the session is being killed. Python cannot catch this error. */
export function throwIfKilled(interrupt: Uint8Array): void {
  if (interrupt[KILL_SWITCH] !== 0) throw new Error("the session was killed");
}
