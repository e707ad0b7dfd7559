import { LONGEST_WAIT_MS } from "../policy/longest_wait.ts";

/** How {@linkcode withinTime} runs. */
export interface WithinTimeOptions {
  /** Milliseconds until the work is given up. */
  timeoutMs: number;
  /** Gives the work up at once; its reason is then thrown. */
  signal?: AbortSignal | undefined;
}

/** The work was still going on when its time was over. */
export class TimeIsUp extends Error {
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`The call ran longer than ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * Waits for work that is told by its signal when its time is over, and then waits no longer: what it does
 * afterwards is its own affair, and how it ends is not looked at.
 *
 * @throws {TimeIsUp} when the time is over.
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
 * Refuses a time that no timer can keep.
 *
 * @throws {RangeError} when it is not above 0, or more than 24 days.
 */
export function requireTimeout(timeoutMs: number, what: string): void {
  if (timeoutMs > 0 && timeoutMs <= LONGEST_WAIT_MS) return;
  throw new RangeError(
    `Cannot ${what} as 'timeoutMs' must be > 0 and <= ${LONGEST_WAIT_MS}: current value is ${timeoutMs}`,
  );
}

/** What throws at once rejects like what throws later. */
async function started<T>(work: (signal: AbortSignal) => T | Promise<T>, signal: AbortSignal): Promise<T> {
  return await work(signal);
}
