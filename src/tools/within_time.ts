import { LONGEST_WAIT_MS } from "../policy/longest_wait.ts";

/** Options of {@linkcode withinTime}. */
export interface WithinTimeOptions {
  /** Maximum duration, in milliseconds. */
  timeoutMs: number;
  /** Cancels the work; its reason is thrown. */
  signal?: AbortSignal | undefined;
}

/** Thrown by {@linkcode withinTime} when the work exceeds its time limit. */
export class TimeIsUp extends Error {
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`The call ran longer than ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * Runs work with a time limit. At the limit it aborts the work's signal and stops waiting; a later result or
 * error of the work is ignored.
 *
 * @throws {TimeIsUp} when the time limit is exceeded.
 */
export async function withinTime<T>(
  work: (signal: AbortSignal) => T | Promise<T>,
  options: WithinTimeOptions,
): Promise<T> {
  const { timeoutMs, signal } = options;
  signal?.throwIfAborted();
  const stop = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const end = (reason: unknown) => {
    stopped.reject(reason);
    stop.abort(reason);
  };
  const onAbort = () => end(signal?.reason);
  const timer = setTimeout(() => end(new TimeIsUp(timeoutMs)), timeoutMs);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([started(work, stop.signal), stopped.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/**
 * Checks a time limit.
 *
 * @throws {RangeError} when it is not above 0, or is more than 24 days.
 */
export function requireTimeout(timeoutMs: number, what: string): void {
  if (timeoutMs > 0 && timeoutMs <= LONGEST_WAIT_MS) return;
  throw new RangeError(
    `Cannot ${what} as 'timeoutMs' must be > 0 and <= ${LONGEST_WAIT_MS}: current value is ${timeoutMs}`,
  );
}

/** Turns a synchronous throw into a rejection. */
async function started<T>(work: (signal: AbortSignal) => T | Promise<T>, signal: AbortSignal): Promise<T> {
  return await work(signal);
}
