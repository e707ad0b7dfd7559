import type { ShellDeadline, ShellResult } from "./exec.ts";
import { floodError, limitError, terminationResult } from "./exec_result.ts";
import type { ExecEnd, StopReason } from "./exec_run.ts";
import type { GuestShellResult } from "./guest_frames.ts";
import type { Limits } from "./limits.ts";
import { HOME } from "./protocol.ts";

const DEADLINES: Readonly<Record<StopReason, ShellDeadline | undefined>> = {
  timeout: "run",
  silence: "silence",
  cpu: "cpu",
  aborted: undefined,
};

/** Says what became of a command line. Time and death are what the host saw; the rest is what the guest said. */
export function shellResult(
  end: ExecEnd<GuestShellResult>,
  options: {
    timeoutMs: number;
    silenceMs?: number | undefined;
    limits: Limits;
    home?: string | undefined;
  },
): ShellResult {
  const { stdout, stderr, durationMs, stateKept, stopped, result } = end;
  const outcome = {
    stdout,
    stderr,
    durationMs,
    stateKept,
    truncated: result?.truncated ?? false,
    cwd: result?.outcome.cwd ?? options.home ?? HOME,
  };
  const deadline = stopped && DEADLINES[stopped];
  if (stopped && deadline) {
    return { ...outcome, status: "timeout", deadline, error: limitError("command", stopped, options) };
  }
  if (!result) {
    const lost = terminationResult(end.termination ?? { reason: "crashed", message: "no result" }, outcome);
    return lost.status === "timeout" ? { ...lost, deadline: "cpu" } : lost;
  }
  if (result.flooded) return { ...outcome, status: "output", error: floodError("command", options.limits) };
  const { exitCode } = result.outcome;
  return exitCode === 0 ? { ...outcome, status: "ok", exitCode } : { ...outcome, status: "exited", exitCode };
}
