import type { SessionPool } from "../../sandbox/contract/pool.ts";
import { ServerError } from "../http/http_errors.ts";

/** Limits of the programs of one session. */
export interface SessionLimits {
  /**
   * Default and maximum of the timeout of a program, in milliseconds.
   *
   * @default the profile's timeout, and no maximum but the maximum of requests
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Memory of the interpreter and its program, in bytes.
   *
   * @default the profile's, which is also the maximum
   */
  readonly memoryBytes?: number | undefined;
}

/**
 * Checks that a session of the pool can have these limits.
 *
 * @throws {ServerError} `invalid` if a limit is above the pool's limit. The message names the limit.
 */
export function checkSessionLimits({ memoryBytes }: SessionLimits, { limits }: SessionPool): void {
  if (memoryBytes === undefined) return;
  if (limits === undefined) {
    throw new ServerError(
      "invalid",
      "limits.memoryBytes cannot be set, as the server's pool has no such limit",
    );
  }
  if (memoryBytes <= limits.memoryBytes) return;
  const most = limits.memoryBytes;
  throw new ServerError(
    "invalid",
    `limits.memoryBytes must be at most ${most}, the limit of the server's profile: current value is ${memoryBytes}`,
  );
}

/**
 * Returns the options of a program with the limits of its session.
 *
 * @throws {ServerError} `invalid` if the program has a longer timeout than the session allows.
 */
export function limitProgram<Options extends SessionLimits>(
  options: Options,
  { timeoutMs, memoryBytes }: SessionLimits,
): Options {
  if (timeoutMs !== undefined && options.timeoutMs !== undefined && options.timeoutMs > timeoutMs) {
    throw new ServerError(
      "invalid",
      `timeoutMs must be at most ${timeoutMs}, the limit of the session: current value is ${options.timeoutMs}`,
    );
  }
  const memory = Math.min(options.memoryBytes ?? Infinity, memoryBytes ?? Infinity);
  return {
    ...options,
    timeoutMs: options.timeoutMs ?? timeoutMs,
    ...(memory < Infinity && { memoryBytes: memory }),
  };
}
