import type { ExecOptions, ExecResult } from "../sandbox/exec.ts";
import type { LiveSession } from "./live_session.ts";

const AT_EXIT = "atexit";
const RUN_AT_EXIT = `__import__("${AT_EXIT}")._run_exitfuncs()`;
const SOON_MS = 1_000;

/**
 * Runs a program as a process of its own would, with what it leaves to be done at its exit. The session is not to
 * be used for another one.
 */
export async function runScript(
  session: LiveSession,
  code: string,
  options: ExecOptions,
): Promise<ExecResult> {
  const result = await session.exec(code, options);
  if (!code.includes(AT_EXIT) || !result.stateKept || result.status === "timeout") return result;
  const { timeoutMs, signal, onOutput } = options;
  const restMs = timeoutMs === undefined ? undefined : Math.max(timeoutMs - result.durationMs, SOON_MS);
  const end = await session.exec(RUN_AT_EXIT, { timeoutMs: restMs, signal, onOutput });
  return {
    ...(end.status === "ok" ? result : end),
    stdout: result.stdout + end.stdout,
    stderr: result.stderr + end.stderr,
    durationMs: result.durationMs + end.durationMs,
    truncated: result.truncated || end.truncated,
  };
}
