import { delay } from "@std/async";

/** Longest delay before another attempt. A server that asks for a longer delay is not retried. */
const MAX_DELAY_MS = 60_000;

/** Options of {@linkcode retryDelayMs}. */
export interface RetryDelayOptions {
  /** Number of attempts so far, from 1. */
  attempt: number;
  /** Milliseconds before the second attempt; each further delay is twice as long. */
  backoffMs: number;
  /** Delay that the server asks for, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** From 0 to 1: up to half of a delay is left out, so that many clients do not return at once. */
  jitter: number;
}

/** Returns the milliseconds to wait before the next attempt; `null` if the server asks for more than a minute. */
export function retryDelayMs(options: RetryDelayOptions): number | null {
  const { attempt, backoffMs, retryAfterMs = 0, jitter } = options;
  if (retryAfterMs > MAX_DELAY_MS) return null;
  const longest = Math.min(MAX_DELAY_MS, backoffMs * 2 ** (attempt - 1));
  return Math.max(retryAfterMs, longest * (1 - jitter / 2));
}

/** Returns the milliseconds of a `Retry-After` header (seconds or a date); `undefined` for anything else. */
export function parseRetryAfter(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+(?:\.\d+)?\s*$/.test(header)
    ? Number(header) * 1000
    : Date.parse(header) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Result of an attempt: a value, or an error and the delay before the next attempt; `null` gives up. */
export type Attempt<T> =
  | { readonly value: T }
  | {
    readonly error: unknown;
    readonly delayMs: number | null;
    /** Ends the delay early. */
    readonly wake?: AbortSignal | undefined;
  };

/**
 * Calls `attempt`, with a number from 1, until the attempt returns a value.
 *
 * Throws the error of an attempt that gives up, and the signal's reason when the signal is aborted during a delay.
 */
export async function retry<T>(
  attempt: (number: number) => Promise<Attempt<T>>,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<T> {
  for (let number = 1;; number++) {
    const result = await attempt(number);
    if ("value" in result) return result.value;
    if (result.delayMs === null) throw result.error;
    await delayUntil(result.delayMs, result.wake, options.signal);
  }
}

/** Waits until the time is over or `wake` is aborted. Rejects with the reason of `signal` when that is aborted. */
async function delayUntil(
  ms: number,
  wake: AbortSignal | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (wake === undefined) return await delay(ms, { signal });
  if (wake.aborted) return;
  try {
    await delay(ms, { signal: AbortSignal.any(signal === undefined ? [wake] : [wake, signal]) });
  } catch (error) {
    signal?.throwIfAborted();
    if (!wake.aborted) throw error;
  }
}
