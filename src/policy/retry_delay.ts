/** A server that asks for a longer pause than this is not waited for. */
const MAX_DELAY_MS = 60_000;

/** What {@linkcode retryDelayMs} goes by. */
export interface RetryDelayOptions {
  /** How often it was tried, from 1. */
  attempt: number;
  /** The pause before the second attempt; each further one is twice as long. */
  backoffMs: number;
  /** What the server asked for, in milliseconds. */
  askedMs?: number | undefined;
  /** From 0 to 1: up to half of a pause is left out, so that many do not come back at once. */
  jitter: number;
}

/** Milliseconds to wait before the next attempt; `null` when the server asks for more than is waited for. */
export function retryDelayMs(options: RetryDelayOptions): number | null {
  const { attempt, backoffMs, askedMs = 0, jitter } = options;
  if (askedMs > MAX_DELAY_MS) return null;
  const longest = Math.min(MAX_DELAY_MS, backoffMs * 2 ** (attempt - 1));
  return Math.max(askedMs, longest * (1 - jitter / 2));
}

/** The milliseconds that a `Retry-After` asks for, in seconds or as a date; `undefined` when it says neither. */
export function askedDelayMs(retryAfter: string | null, now: Date): number | undefined {
  if (retryAfter === null) return undefined;
  const ms = /^\s*\d+(?:\.\d+)?\s*$/.test(retryAfter)
    ? Number(retryAfter) * 1000
    : Date.parse(retryAfter) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
