import { SandboxError } from "../errors.ts";
import type { SessionLease, SessionPool } from "./exec.ts";

/** How {@linkcode acquireWithin} waits. */
export interface AcquireWithinOptions {
  /** Milliseconds until the wait is given up. */
  timeoutMs: number;
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Takes a session from a pool, or gives up when none was free for too long.
 *
 * @throws {SandboxError} when the time is over.
 */
export async function acquireWithin(pool: SessionPool, options: AcquireWithinOptions): Promise<SessionLease> {
  const { timeoutMs, seed, signal } = options;
  const stop = new AbortController();
  const tooLong = new SandboxError(
    `Cannot acquire session as none was free within ${timeoutMs} ms: the pool must have one for each episode that has run code and goes on`,
  );
  const timer = setTimeout(() => stop.abort(tooLong), timeoutMs);
  try {
    const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    return await pool.acquire({ seed, signal: either });
  } finally {
    clearTimeout(timer);
  }
}
