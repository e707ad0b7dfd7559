/** What a {@linkcode RateLimiter} allows; what is left out is not limited. */
export interface RateLimiterOptions {
  /** Calls that may run at once. */
  maxConcurrent?: number | undefined;
  /** Calls that may start in a second, in the long run. */
  ratePerSecond?: number | undefined;
  /** Calls that may start at once after a quiet time; 1 unless given. Needs `ratePerSecond`. */
  burst?: number | undefined;
  /** Milliseconds that a call waits for its turn before it is refused; for ever unless given. */
  maxWaitMs?: number | undefined;
}

interface Waiter {
  start(): void;
}

/**
 * Lets calls start as fast as it may, first come, first served. One limiter holds for all who share it.
 *
 * @example Two calls at once, and five a second
 * ```ts
 * import { RateLimiter } from "@paddock/paddock";
 *
 * const limiter = new RateLimiter({ maxConcurrent: 2, ratePerSecond: 5 });
 * using turn = await limiter.acquire();
 * if (turn === null) throw new Error("refused");
 * ```
 */
export class RateLimiter {
  readonly #maxConcurrent: number;
  readonly #ratePerSecond: number;
  readonly #burst: number;
  readonly #maxWaitMs: number | undefined;
  readonly #waiters = new Set<Waiter>();
  #running = 0;
  #tokens: number;
  #filledAt = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @throws {RangeError} when a limit is not positive, or a count is not whole. */
  constructor(options: RateLimiterOptions) {
    const { maxConcurrent = Infinity, ratePerSecond = Infinity, burst = 1, maxWaitMs } = options;
    requireLimit("maxConcurrent", maxConcurrent, maxConcurrent >= 1 && isWhole(maxConcurrent));
    requireLimit("ratePerSecond", ratePerSecond, ratePerSecond > 0);
    requireLimit("burst", burst, burst >= 1 && isWhole(burst));
    requireLimit("maxWaitMs", maxWaitMs ?? 0, (maxWaitMs ?? 0) >= 0);
    this.#maxConcurrent = maxConcurrent;
    this.#ratePerSecond = ratePerSecond;
    this.#burst = burst;
    this.#maxWaitMs = maxWaitMs;
    this.#tokens = burst;
  }

  /**
   * Waits until a call may start; disposing what it gives says that the call is over. `null` when the wait was
   * too long. Rejects with the signal's reason when that is aborted first.
   */
  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<Disposable | null> {
    const { signal } = options;
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Disposable | null>();
    const waiter: Waiter = { start: () => resolve(this.#turn()) };
    const onAbort = () => reject(signal?.reason);
    const timer = this.#maxWaitMs === undefined
      ? undefined
      : setTimeout(() => resolve(null), this.#maxWaitMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiters.add(waiter);
    this.#startAll();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      this.#waiters.delete(waiter);
      if (this.#waiters.size === 0) this.#stopTimer();
    }
  }

  #turn(): Disposable {
    let over = false;
    this.#running++;
    this.#tokens--;
    return {
      [Symbol.dispose]: () => {
        if (over) return;
        over = true;
        this.#running--;
        this.#startAll();
      },
    };
  }

  #startAll(): void {
    for (const waiter of this.#waiters) {
      if (this.#running >= this.#maxConcurrent) return;
      this.#fill();
      if (this.#tokens < 1) return this.#comeBack();
      this.#waiters.delete(waiter);
      waiter.start();
    }
  }

  #fill(): void {
    const now = performance.now();
    const gained = this.#ratePerSecond === Infinity
      ? Infinity
      : (now - this.#filledAt) * this.#ratePerSecond / 1000;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#filledAt = now;
  }

  #comeBack(): void {
    const waitMs = Math.ceil((1 - this.#tokens) * 1000 / this.#ratePerSecond);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#startAll();
    }, waitMs);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

function isWhole(value: number): boolean {
  return value === Infinity || Number.isInteger(value);
}

function requireLimit(name: string, value: number, holds: boolean): void {
  if (holds) return;
  throw new RangeError(
    `Cannot limit calls as '${name}' must be a positive number: current value is ${value}`,
  );
}
