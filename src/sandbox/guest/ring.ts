/**
 * A byte pipe in shared memory: one thread writes, another reads. The worker's end may block; the
 * supervisor's end never does. One ring for each direction carries frames between the two.
 *
 * Layout: four 32-bit words (`written`, `read`, `calls`, `asleep`), then the bytes. The first three only grow
 * and wrap at 2³²; the capacity is a power of two. The writer increments `calls` to notify the reader, not once
 * per byte. While `asleep` is set, the writer notifies the reader of the next byte.
 */

const HEAD_BYTES = 16;
const WRITTEN = 0;
const READ = 1;
const CALLS = 2;
const ASLEEP = 3;
/** Shorter pieces are copied in a loop, which is faster than a call of `set`. */
const SHORT_BYTES = 48;

/** One direction between the supervisor and a worker. */
export class Ring {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;
  readonly #mask: number;
  /** Bytes written since the last notification. */
  #unnotified = 0;

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

  /** Writes all bytes from `start` to `end`. Blocks while the ring is full; may not notify the reader. Worker only. */
  write(source: Uint8Array, start = 0, end: number = source.length): void {
    this.#unnotified += end - start;
    for (let done = start; done < end;) {
      const seen = Atomics.load(this.#words, READ);
      const count = this.writeSome(source, done, end);
      done += count;
      if (count > 0) continue;
      this.notify();
      Atomics.wait(this.#words, READ, seen);
    }
  }

  /** Blocks until `target` is full. Worker only. */
  read(target: Uint8Array): void {
    for (let done = 0; done < target.length;) {
      const seen = this.counterOf("calls");
      const count = this.readSome(target.subarray(done));
      if (count === 0) Atomics.wait(this.#words, CALLS, seen);
      done += count;
    }
  }

  /** Blocks until there is something to read, for at most `ms`. Worker only. */
  wait(ms: number): void {
    const seen = this.counterOf("calls");
    if (this.available() === 0) Atomics.wait(this.#words, CALLS, seen, ms);
  }

  /** Blocks until {@linkcode Ring.notify}, for at most `ms`. Worker only. */
  waitNotify(ms: number): void {
    Atomics.wait(this.#words, CALLS, this.counterOf("calls"), ms);
  }

  /** Notifies the reader. */
  notify(): void {
    this.#unnotified = 0;
    Atomics.store(this.#words, ASLEEP, 0);
    Atomics.add(this.#words, CALLS, 1);
    Atomics.notify(this.#words, CALLS);
  }

  /** Notifies the reader if it is asleep, or if more than half of the ring is unnotified. */
  notifyIfDue(): void {
    if (this.#unnotified > this.#bytes.length / 2 || Atomics.load(this.#words, ASLEEP) !== 0) this.notify();
  }

  /** Requests a notification of the next byte. Returns true if there is nothing to read now. */
  markAsleep(): boolean {
    Atomics.store(this.#words, ASLEEP, 1);
    return this.available() === 0;
  }

  /** Cancels that request, so that the writer may buffer output that can wait. */
  markAwake(): void {
    Atomics.store(this.#words, ASLEEP, 0);
  }

  /** Wakes threads that wait at either end, even if there is nothing to read and no room to write. */
  wake(): void {
    this.notify();
    Atomics.notify(this.#words, READ);
  }

  /**
   * Resolves when the counter differs from `seen`: after a notification (`calls`) or when the reader has made
   * room (`read`). Returns true if it had to wait, which let this thread run other tasks.
   */
  async waitChange(what: "calls" | "read", seen: number): Promise<boolean> {
    const wait = Atomics.waitAsync(this.#words, what === "calls" ? CALLS : READ, seen);
    if (wait.async) await wait.value;
    return wait.async;
  }

  /** Returns the counter for {@linkcode Ring.waitChange}. Read it before looking for work. */
  counterOf(what: "calls" | "read"): number {
    return Atomics.load(this.#words, what === "calls" ? CALLS : READ);
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
