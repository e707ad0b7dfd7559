/**
 * A pipe of bytes through shared memory: one thread writes, another reads. The worker's end may block;
 * the supervisor's end never does. It carries frames in both directions between the two.
 *
 * Layout: four 32-bit words (`written`, `read`, `calls`, `asleep`), then the bytes. All but the last only grow
 * and wrap at 2³²; the capacity is a power of two. Who writes says with `calls` that it is time to read, which
 * is not so for every byte; while `asleep` is set, the reader wants to hear of the next one.
 */

const HEAD_BYTES = 16;
const WRITTEN = 0;
const READ = 1;
const CALLS = 2;
const ASLEEP = 3;
/** What is shorter is copied byte by byte: it takes less than the call that copies many. */
const SHORT_BYTES = 48;

/** One direction between the supervisor and a worker. */
export class Ring {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;
  readonly #mask: number;
  /** Bytes written since the last call. */
  #unnotified = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, HEAD_BYTES / 4);
    this.#bytes = new Uint8Array(buffer, HEAD_BYTES);
    this.#mask = this.#bytes.length - 1;
  }

  /** A ring that holds `capacity` bytes, a power of two. */
  static create(capacity: number): Ring {
    return new Ring(new SharedArrayBuffer(HEAD_BYTES + capacity));
  }

  /** Bytes that can be read now; never more than the capacity, whatever the other side wrote there. */
  available(): number {
    const count = (Atomics.load(this.#words, WRITTEN) - Atomics.load(this.#words, READ)) >>> 0;
    return Math.min(count, this.#bytes.length);
  }

  /** Writes as many bytes as fit now, tells nobody, and says how many that were. */
  writeSome(source: Uint8Array, start: number, end: number = source.length): number {
    const written = Atomics.load(this.#words, WRITTEN);
    const free = this.#bytes.length - ((written - Atomics.load(this.#words, READ)) >>> 0);
    const count = Math.max(0, Math.min(free, end - start));
    if (count === 0) return 0;
    this.#copyIn(source, start, { at: written & this.#mask, count });
    Atomics.store(this.#words, WRITTEN, (written + count) | 0);
    return count;
  }

  /** Reads at most `target.length` bytes that are there now and says how many that were. */
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

  /** Blocks until all from `start` to `end` is written, of which the reader need not hear yet. Worker only. */
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
      const seen = this.seen("calls");
      const count = this.readSome(target.subarray(done));
      if (count === 0) Atomics.wait(this.#words, CALLS, seen);
      done += count;
    }
  }

  /** Blocks for at most `ms` until there is something to read. Worker only. */
  wait(ms: number): void {
    const seen = this.seen("calls");
    if (this.available() === 0) Atomics.wait(this.#words, CALLS, seen, ms);
  }

  /** Blocks for at most `ms`, or until {@linkcode Ring.notify}. Worker only. */
  waitNotify(ms: number): void {
    Atomics.wait(this.#words, CALLS, this.seen("calls"), ms);
  }

  /** Calls the reader. */
  notify(): void {
    this.#unnotified = 0;
    Atomics.store(this.#words, ASLEEP, 0);
    Atomics.add(this.#words, CALLS, 1);
    Atomics.notify(this.#words, CALLS);
  }

  /** Calls the reader if it sleeps, or if otherwise the ring would soon be full. */
  notifyIfDue(): void {
    if (this.#unnotified > this.#bytes.length / 2 || Atomics.load(this.#words, ASLEEP) !== 0) this.notify();
  }

  /** Has the writer call for the next byte; says whether there is nothing to be read before. */
  sleep(): boolean {
    Atomics.store(this.#words, ASLEEP, 1);
    return this.available() === 0;
  }

  /** Lets the writer gather what need not be read at once. */
  stayAwake(): void {
    Atomics.store(this.#words, ASLEEP, 0);
  }

  /** Wakes whoever waits at either end, without anything to read or any room. */
  wake(): void {
    this.notify();
    Atomics.notify(this.#words, READ);
  }

  /**
   * Resolves when the writer has called (`calls`) or the reader has made room (`read`). Says whether that took
   * a wait, in which this thread did other things.
   */
  async changed(what: "calls" | "read", seen: number): Promise<boolean> {
    const wait = Atomics.waitAsync(this.#words, what === "calls" ? CALLS : READ, seen);
    if (wait.async) await wait.value;
    return wait.async;
  }

  /** The counter to hand to {@linkcode Ring.changed}, read before looking for work. */
  seen(what: "calls" | "read"): number {
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
 * Where in the bytes of a session's interrupt the order to end stands: nothing in the guest takes it back, as
 * Python does with an interrupt that it has heard.
 */
export const KILL_SWITCH = 1;

/** Throws when the session was told to end at once. What it throws is nothing that Python could catch. */
export function throwIfKilled(interrupt: Uint8Array): void {
  if (interrupt[KILL_SWITCH] !== 0) throw new Error("it was told to end at once");
}
