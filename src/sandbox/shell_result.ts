import type { ShellResult } from "./exec.ts";
import { floodError, limitError, lossResult } from "./exec_result.ts";
import type { ExecEnd } from "./exec_run.ts";
import type { GuestShellResult } from "./guest_frames.ts";
import type { Limits } from "./limits.ts";
import { HOME } from "./protocol.ts";

/** Says what became of a command line. Time and death are what the host saw; the rest is what the guest said. */
export function shellResult(
  end: ExecEnd<GuestShellResult>,
  options: { timeoutMs: number; limits: Limits; home?: string | undefined },
): ShellResult {
  const { stdout, stderr, durationMs, stateKept, stopped, result } = end;
  const outcome = {
    ...{ stdout, stderr, durationMs, stateKept },
    truncated: result?.truncated ?? false,
    cwd: result?.outcome.cwd ?? options.home ?? HOME,
  };
  if (stopped === "timeout" || stopped === "cpu") {
    return { ...outcome, status: "timeout", error: limitError("command", stopped, options) };
  }
  if (!result) return lossResult(end.loss ?? { reason: "crashed", message: "no result" }, outcome);
  if (result.flooded) return { ...outcome, status: "output", error: floodError("command", options.limits) };
  const { exitCode } = result.outcome;
  return exitCode === 0 ? { ...outcome, status: "ok", exitCode } : { ...outcome, status: "exited", exitCode };
}
