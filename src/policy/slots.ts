/** So many at once and no more: who comes later waits in line. */
export class Slots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  /** @throws {RangeError} when the count is not a whole number of at least 1. */
  constructor(count: number) {
    if (!Number.isInteger(count) || count < 1) {
      throw new RangeError(
        `Cannot bound what runs at once as 'concurrency' must be a whole number >= 1: current value is ${count}`,
      );
    }
    this.#free = count;
  }

  /** Waits for a slot, which is free again when disposed; rejects with the signal's reason. */
  async take(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    let taken = true;
    return {
      [Symbol.dispose]: () => {
        if (taken) this.#giveBack();
        taken = false;
      },
    };
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const next = () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    };
    const onAbort = () => {
      this.#waiting.delete(next);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiting.add(next);
    return promise;
  }

  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) return void this.#free++;
    this.#waiting.delete(next);
    next();
  }
}
