import { WaitList } from "../async/wait_list.ts";
import { requireKnownOptions } from "../options.ts";

/** Options of {@linkcode RateLimiter}. A limit that is left out does not apply. */
export interface RateLimiterOptions {
  /**
   * Maximum number of calls that run at the same time.
   * @default Infinity
   */
  maxConcurrent?: number | undefined;
  /**
   * Average number of calls that may start per second.
   * @default Infinity
   */
  ratePerSecond?: number | undefined;
  /**
   * Number of calls that may start at once after a pause. Needs `ratePerSecond`.
   * @default 1
   */
  burst?: number | undefined;
  /**
   * Maximum time that a call waits before the refusal, in milliseconds.
   * @default no limit
   */
  maxWaitMs?: number | undefined;
}

/**
 * Limits how fast and how many calls start, in the order in which they arrive. All users of a limiter
 * share the limits.
 *
 * @example Two calls at once, and five a second
 * ```ts
 * import { RateLimiter } from "@paddock/paddock/tools";
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
  readonly #waiting = new WaitList<Disposable | null>();
  #running = 0;
  #tokens: number;
  #filledAt = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @throws {RangeError} when a limit is not positive, or when a count is not an integer.
   */
  constructor(options: RateLimiterOptions) {
    requireKnownOptions("create RateLimiter", options, {
      maxConcurrent: true,
      ratePerSecond: true,
      burst: true,
      maxWaitMs: true,
    });
    const { maxConcurrent = Infinity, ratePerSecond = Infinity, burst = 1, maxWaitMs } = options;
    requireLimit("maxConcurrent", maxConcurrent, maxConcurrent >= 1 && isCount(maxConcurrent));
    requireLimit("ratePerSecond", ratePerSecond, ratePerSecond > 0);
    requireLimit("burst", burst, burst >= 1 && isCount(burst));
    requireLimit("maxWaitMs", maxWaitMs ?? 0, (maxWaitMs ?? 0) >= 0);
    this.#maxConcurrent = maxConcurrent;
    this.#ratePerSecond = ratePerSecond;
    this.#burst = burst;
    this.#maxWaitMs = maxWaitMs;
    this.#tokens = burst;
  }

  /**
   * Waits until a call may start. Dispose the result when the call has ended. Returns `null` when the wait
   * exceeds `maxWaitMs`. Rejects with the signal's reason when the signal is aborted first.
   */
  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<Disposable | null> {
    const { signal } = options;
    const waiter = this.#waiting.add(undefined, signal);
    const timer = this.#maxWaitMs === undefined
      ? undefined
      : setTimeout(() => waiter.resolve(null), this.#maxWaitMs);
    this.#startWaiting();
    try {
      return await waiter.promise;
    } finally {
      clearTimeout(timer);
      if (this.#waiting.size === 0) this.#stopTimer();
    }
  }

  #startCall(): Disposable {
    let disposed = false;
    this.#running++;
    this.#tokens--;
    return {
      [Symbol.dispose]: () => {
        if (disposed) return;
        disposed = true;
        this.#running--;
        this.#startWaiting();
      },
    };
  }

  #startWaiting(): void {
    for (const waiter of this.#waiting) {
      if (this.#running >= this.#maxConcurrent) return;
      this.#refillTokens();
      if (this.#tokens < 1) return this.#scheduleRefill();
      waiter.resolve(this.#startCall());
    }
  }

  #refillTokens(): void {
    const now = performance.now();
    const refill = this.#ratePerSecond === Infinity
      ? Infinity
      : (now - this.#filledAt) * this.#ratePerSecond / 1000;
    this.#tokens = Math.min(this.#burst, this.#tokens + refill);
    this.#filledAt = now;
  }

  #scheduleRefill(): void {
    const waitMs = Math.ceil((1 - this.#tokens) * 1000 / this.#ratePerSecond);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#startWaiting();
    }, waitMs);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

function isCount(value: number): boolean {
  return value === Infinity || Number.isInteger(value);
}

function requireLimit(name: string, value: number, isValid: boolean): void {
  if (isValid) return;
  throw new RangeError(
    `Cannot limit calls as '${name}' must be a positive number: current value is ${value}`,
  );
}
