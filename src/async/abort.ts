import { abortable as stdAbortable } from "@std/async";

/** Longest time that a timer can wait, in milliseconds; a timer with a longer time fires at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/**
 * Waits for `promise`, or rejects with the signal's reason if the signal is aborted first. The work behind the
 * promise is not stopped. Without a signal, waits for the promise alone.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? await promise : await stdAbortable(promise, signal);
}

/** Options of {@linkcode Deadline}. */
export interface DeadlineOptions {
  /** Also aborts the deadline's signal. */
  signal?: AbortSignal | undefined;
  /** Reason of the abort when the time is up. Default: a `TimeoutError`. */
  reason?: (() => unknown) | undefined;
}

/**
 * A signal that is aborted after a time, or with another signal. Unlike `AbortSignal.timeout()`, disposing the deadline
 * stops the timer.
 */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #expiry = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;

  /** `timeoutMs` is cut to {@linkcode MAX_TIMER_MS}. */
  constructor(timeoutMs: number, options: DeadlineOptions = {}) {
    const { signal, reason = () => new DOMException("The time is up", "TimeoutError") } = options;
    this.#timer = setTimeout(() => this.#expiry.abort(reason()), Math.min(timeoutMs, MAX_TIMER_MS));
    this.signal = AbortSignal.any([this.#expiry.signal, ...(signal === undefined ? [] : [signal])]);
  }

  /** True if the time is up. */
  get isExpired(): boolean {
    return this.#expiry.signal.aborted;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Options of {@linkcode runWithTimeout}. */
export interface RunWithTimeoutOptions {
  /** Milliseconds after which the work is abandoned. */
  timeoutMs: number;
  /** Abandons the work at once; the signal's reason is then thrown. */
  signal?: AbortSignal | undefined;
}

/** The error of work that took longer than the timeout. */
export class CallTimeoutError extends Error {
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`The call ran longer than ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * Runs `work` with a signal that is aborted when the time is up, and then stops waiting. Anything that
 * abandoned work does afterwards, also the outcome, is ignored.
 *
 * @throws {CallTimeoutError} when the time is up.
 */
export async function runWithTimeout<T>(
  work: (signal: AbortSignal) => T | Promise<T>,
  options: RunWithTimeoutOptions,
): Promise<T> {
  const { timeoutMs, signal } = options;
  signal?.throwIfAborted();
  const stop = new AbortController();
  const result = work(stop.signal);
  if (!isThenable(result)) return result; // a timer with signals takes longer than most such work
  using deadline = new Deadline(timeoutMs, { signal, reason: () => new CallTimeoutError(timeoutMs) });
  try {
    return await abortable((async () => await result)(), deadline.signal);
  } finally {
    // Only now, so that an error of the aborted work cannot replace the reason.
    if (deadline.signal.aborted) stop.abort(deadline.signal.reason);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/**
 * Checks that a timer can keep a timeout.
 *
 * @throws {RangeError} when the timeout is not above 0, or is above {@linkcode MAX_TIMER_MS} (24 days).
 */
export function requireTimeout(timeoutMs: number, what: string): void {
  if (timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS) return;
  throw new RangeError(
    `Cannot ${what} as 'timeoutMs' must be > 0 and <= ${MAX_TIMER_MS}: current value is ${timeoutMs}`,
  );
}
