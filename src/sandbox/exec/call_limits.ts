import { MAX_TIMER_MS } from "../../async/abort.ts";
import type { ExecOptions } from "../contract/exec.ts";
import type { Profile } from "../profile/profile.ts";
import type { VirtualTime } from "./exec_run.ts";

/**
 * Limit of real time of an exec with a virtual clock, as a multiple of its timeout, and at least. Python's loops may take
 * several times more real time than virtual time, and functions of C pass almost no virtual time.
 */
const [GUARD_FACTOR, MIN_GUARD_MS] = [10, 10_000];

/** Limits of a call. */
export interface CallLimits {
  readonly limits: Profile["limits"];
  /** Limit of real time. */
  readonly timeoutMs: number;
  /** Limits by the virtual clock, if the profile has one. */
  readonly virtual?: VirtualTime | undefined;
}

/**
 * Returns the limits of a call in the time of this machine, and the limits by the virtual clock.
 *
 * @param options.restarts True if the timeout by the virtual clock begins anew with each reply to a call.
 */
export function callLimits(
  { limits, clock, timeScale = 1 }: Profile,
  { timeoutMs = limits.timeoutMs, restarts = false }: Pick<ExecOptions, "timeoutMs"> & { restarts?: boolean },
): CallLimits {
  const scaled = { ...limits, cpuSeconds: limits.cpuSeconds * timeScale };
  if (clock !== "virtual") return { limits: scaled, timeoutMs: timeoutMs * timeScale };
  const guardMs = Math.max(MIN_GUARD_MS, GUARD_FACTOR * timeoutMs) * timeScale;
  const virtual = { timeoutMs, graceMs: limits.graceMs, restarts };
  return { limits: scaled, timeoutMs: Math.min(guardMs, MAX_TIMER_MS), virtual };
}

/** Returns limits as messages name them. */
export function namedLimits(
  { limits, timeoutMs, virtual }: CallLimits,
): { limits: Profile["limits"]; timeoutMs: number; guardMs: number } {
  return { limits, timeoutMs: virtual?.timeoutMs ?? timeoutMs, guardMs: timeoutMs };
}
