/**
 * A pipe of bytes through shared memory: one thread writes, another reads. The worker's end may block;
 * the supervisor's end never does. It carries frames in both directions between the two.
 *
 * Layout: four 32-bit words (`written`, `read`, unused, unused), then the bytes. Both counters only grow
 * and wrap at 2³²; the capacity is a power of two.
 */

const HEAD_BYTES = 16;
const WRITTEN = 0;
const READ = 1;

/** One direction between the supervisor and a worker. */
export class Ring {
  readonly buffer: SharedArrayBuffer;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;
  readonly #mask: number;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer, 0, HEAD_BYTES / 4);
    this.#bytes = new Uint8Array(buffer, HEAD_BYTES);
    this.#mask = this.#bytes.length - 1;
  }

  /** A ring that holds `capacity` bytes, a power of two. */
  static create(capacity: number): Ring {
    return new Ring(new SharedArrayBuffer(HEAD_BYTES + capacity));
  }

  /** Bytes that can be read now; never more than the capacity, whatever the other side wrote there. */
  available(): number {
    const count = (Atomics.load(this.words, WRITTEN) - Atomics.load(this.words, READ)) >>> 0;
    return Math.min(count, this.#bytes.length);
  }

  /** Writes as many bytes as fit now and says how many that were. */
  writeSome(source: Uint8Array, start: number): number {
    const written = Atomics.load(this.words, WRITTEN);
    const free = this.#bytes.length - ((written - Atomics.load(this.words, READ)) >>> 0);
    const count = Math.max(0, Math.min(free, source.length - start));
    if (count === 0) return 0;
    const at = written & this.#mask;
    const first = Math.min(count, this.#bytes.length - at);
    this.#bytes.set(source.subarray(start, start + first), at);
    this.#bytes.set(source.subarray(start + first, start + count), 0);
    Atomics.store(this.words, WRITTEN, (written + count) | 0);
    Atomics.notify(this.words, WRITTEN);
    return count;
  }

  /** Reads at most `target.length` bytes that are there now and says how many that were. */
  readSome(target: Uint8Array): number {
    const read = Atomics.load(this.words, READ);
    const count = Math.min(this.available(), target.length);
    if (count === 0) return 0;
    const at = read & this.#mask;
    const first = Math.min(count, this.#bytes.length - at);
    target.set(this.#bytes.subarray(at, at + first));
    target.set(this.#bytes.subarray(0, count - first), first);
    Atomics.store(this.words, READ, (read + count) | 0);
    Atomics.notify(this.words, READ);
    return count;
  }

  /** Blocks until all of `source` is written. Worker only. */
  write(source: Uint8Array): void {
    for (let done = 0; done < source.length;) {
      const seen = Atomics.load(this.words, READ);
      const count = this.writeSome(source, done);
      if (count === 0) Atomics.wait(this.words, READ, seen);
      done += count;
    }
  }

  /** Blocks until `target` is full. Worker only. */
  read(target: Uint8Array): void {
    for (let done = 0; done < target.length;) {
      const seen = Atomics.load(this.words, WRITTEN);
      const count = this.readSome(target.subarray(done));
      if (count === 0) Atomics.wait(this.words, WRITTEN, seen);
      done += count;
    }
  }

  /** Blocks for at most `ms` until there is something to read. Worker only. */
  wait(ms: number): void {
    const seen = Atomics.load(this.words, WRITTEN);
    if (this.available() === 0) Atomics.wait(this.words, WRITTEN, seen, ms);
  }

  /** Blocks for at most `ms`, or until {@linkcode Ring.wake}. Worker only. */
  rest(ms: number): void {
    Atomics.wait(this.words, WRITTEN, Atomics.load(this.words, WRITTEN), ms);
  }

  /** Wakes whoever waits at either end, without anything to read or any room. */
  wake(): void {
    Atomics.notify(this.words, WRITTEN);
    Atomics.notify(this.words, READ);
  }

  /**
   * Resolves when the other side has written (`written`) or made room (`read`). Says whether that took a
   * wait, in which this thread did other things.
   */
  async changed(what: "written" | "read", seen: number): Promise<boolean> {
    const wait = Atomics.waitAsync(this.words, what === "written" ? WRITTEN : READ, seen);
    if (wait.async) await wait.value;
    return wait.async;
  }

  /** The counter to hand to {@linkcode Ring.changed}, read before looking for work. */
  seen(what: "written" | "read"): number {
    return Atomics.load(this.words, what === "written" ? WRITTEN : READ);
  }
}
