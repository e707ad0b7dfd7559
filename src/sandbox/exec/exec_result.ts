import type { DeniedAttempts, ExecOutcome, ExecResult, GuestError } from "../contract/exec.ts";
import type { ShellDeadline, ShellResult } from "../contract/shell.ts";
import { type ExecEnd, hostError, type StopReason } from "./exec_run.ts";
import { type GuestResult, type GuestShellResult, MAX_DENIED } from "../guest_frames.ts";
import type { Termination } from "../guest_link.ts";
import type { Limits } from "../profile/schema.ts";
import { HOME } from "../protocol.ts";

/** Limits of time that messages name. */
interface TimeLimits {
  readonly timeoutMs: number;
  /** Limit of real time in a session with a virtual clock. */
  readonly guardMs?: number | undefined;
  readonly limits: Limits;
}

/**
 * Returns the result of an exec. Timeouts and terminations are what the host observed; the rest is reported by the
 * guest.
 */
export function toExecResult(end: ExecEnd, options: TimeLimits): ExecResult {
  const outcome = toOutcome(end, options.limits);
  if (end.stopped === "timeout" || end.stopped === "guard" || end.stopped === "cpu") {
    return { ...outcome, status: "timeout", error: stopError(end.stopped, end, options) };
  }
  if (end.result) return guestResult(end.result, outcome, options.limits);
  const termination = end.termination ?? { reason: "crashed", message: "no result" };
  const result = terminationResult(termination, outcome);
  const { exitCode } = termination;
  return result.status === "crashed" && exitCode !== undefined ? { ...result, exitCode } : result;
}

/** Returns what every result has, also the result of a program that waits. */
export function toOutcome(end: ExecEnd, limits: Limits): ExecOutcome {
  const dropped = end.invalidDisplays + (end.result?.droppedDisplays ?? 0);
  return {
    stdout: end.stdout,
    stderr: end.stderr,
    durationMs: end.durationMs,
    stateKept: end.stateKept,
    truncated: end.result?.truncated ?? false,
    ...(end.display.length > 0 && { display: [...end.display] }),
    ...(dropped > 0 && { droppedDisplays: dropped }),
    ...peakOf(end.result, limits),
    ...deniedOf(end.result?.denied, end.result?.outcome.denied),
  };
}

/**
 * True if an end depends on the machine, although its session has a virtual clock. What the guest reports of its own end
 * does not: an exit code, or the end of the grace time.
 */
export function isInexact({ stopped, termination }: ExecEnd<unknown>): boolean {
  if (stopped !== undefined && stopped !== "timeout") return true;
  if (!termination) return false;
  return !termination.ended || (termination.exitCode === undefined && stopped === undefined);
}

/** Returns the peak of the heap, if the guest reported one. It cannot have exceeded its limit. */
function peakOf(
  result: Pick<GuestResult, "peakMemoryBytes"> | undefined,
  { memoryBytes }: Limits,
): { peakMemoryBytes?: number } {
  return result ? { peakMemoryBytes: Math.min(result.peakMemoryBytes, memoryBytes) } : {};
}

/** Returns the sum of two counts of the guest, unless nothing was counted. */
function deniedOf(...counts: (DeniedAttempts | undefined)[]): { denied?: DeniedAttempts } {
  const denied: DeniedAttempts = {};
  for (const [kind, count] of counts.flatMap((part) => Object.entries(part ?? {}))) {
    const name = kind as keyof DeniedAttempts;
    if (count > 0) denied[name] = Math.min(MAX_DENIED, (denied[name] ?? 0) + count);
  }
  return Object.keys(denied).length === 0 ? {} : { denied };
}

/**
 * Returns the reason for the stop and, if the program did not catch the interrupt, the traceback of
 * the running code.
 */
function stopError(
  reason: StopReason,
  { result }: ExecEnd,
  options: TimeLimits,
): GuestError {
  const error = limitError("block", reason, options);
  const outcome = result?.outcome;
  if (outcome?.status !== "interrupted") return error;
  return {
    ...error,
    traceback: outcome.error.traceback.replace(/KeyboardInterrupt\n$/, () => error.traceback),
  };
}

function guestResult(result: GuestResult, base: ExecOutcome, limits: Limits): ExecResult {
  const { outcome, flooded } = result;
  if (flooded) return { ...base, status: "output", error: floodError("block", limits) };
  if (outcome.status === "ok") {
    const value = {
      ...(outcome.value !== undefined && { value: outcome.value }),
      ...(outcome.valueJson !== undefined && { valueJson: outcome.valueJson }),
    };
    return { ...base, status: "ok", ...value, truncated: base.truncated || outcome.cut };
  }
  if (outcome.status === "exited") return { ...base, status: "exited", exitCode: outcome.exitCode };
  const status = outcome.status === "memory" ? "memory" : "error";
  return { ...base, status, error: outcome.error };
}

/** Returns the error of a block or a command that exceeded a time limit. */
function limitError(
  what: "block" | "command",
  reason: StopReason,
  { timeoutMs, guardMs, silenceMs, limits }: TimeLimits & { silenceMs?: number | undefined },
): GuestError {
  if (reason === "guard") {
    return hostError(
      "TimeoutError",
      `the ${what} ran longer than ${guardMs} ms of real time, the guard of its virtual clock`,
    );
  }
  if (reason === "cpu") {
    return hostError("CpuTimeLimit", `the ${what} used more than ${limits.cpuSeconds} s of CPU time`);
  }
  return reason === "silence"
    ? hostError("TimeoutError", `the ${what} wrote nothing for ${silenceMs} ms`)
    : hostError("TimeoutError", `the ${what} ran longer than ${timeoutMs} ms`);
}

/** Returns the error of a block or a command that exceeded its output limit by far. */
function floodError(what: "block" | "command", limits: Limits): GuestError {
  return hostError(
    "OutputLimit",
    `the ${what} wrote more than 64 times its limit of ${limits.outputBytes} bytes`,
  );
}

/** Returns the result of a block or a command whose interpreter was terminated. */
function terminationResult<Outcome extends ExecOutcome>(
  termination: Termination,
  outcome: Outcome,
): Outcome & { error: GuestError } & ({ status: "memory" } | { status: "timeout" } | { status: "crashed" }) {
  if (termination.reason === "memory") {
    return { ...outcome, status: "memory", error: hostError("MemoryLimit", termination.message) };
  }
  if (termination.reason === "cpu") {
    return { ...outcome, status: "timeout", error: hostError("CpuTimeLimit", termination.message) };
  }
  return { ...outcome, status: "crashed", error: hostError("InterpreterLost", termination.message) };
}

const DEADLINES: Readonly<Record<StopReason, ShellDeadline | undefined>> = {
  timeout: "run",
  guard: "run",
  silence: "silence",
  cpu: "cpu",
  aborted: undefined,
  dropped: undefined,
};

/**
 * Returns the result of a command line. Timeouts and terminations are what the host observed; the rest is reported
 * by the guest.
 */
export function toShellResult(
  end: ExecEnd<GuestShellResult>,
  options: TimeLimits & { silenceMs?: number | undefined; home?: string | undefined },
): ShellResult {
  const { stdout, stderr, durationMs, stateKept, stopped, result } = end;
  const outcome = {
    stdout,
    stderr,
    durationMs,
    stateKept,
    truncated: result?.truncated ?? false,
    ...peakOf(result, options.limits),
    ...deniedOf(result?.denied),
    cwd: result?.outcome.cwd ?? options.home ?? HOME,
  };
  const deadline = stopped && DEADLINES[stopped];
  if (stopped && deadline) {
    return { ...outcome, status: "timeout", deadline, error: limitError("command", stopped, options) };
  }
  if (!result) {
    const termination = end.termination ?? { reason: "crashed", message: "no result" };
    const terminated = terminationResult(termination, outcome);
    return terminated.status === "timeout" ? { ...terminated, deadline: "cpu" } : terminated;
  }
  if (result.flooded) return { ...outcome, status: "output", error: floodError("command", options.limits) };
  const { exitCode } = result.outcome;
  return exitCode === 0 ? { ...outcome, status: "ok", exitCode } : { ...outcome, status: "exited", exitCode };
}
