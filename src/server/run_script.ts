import type { ExecOptions, ExecResult } from "../sandbox/exec.ts";
import type { LiveSession } from "./live_session.ts";

/** What a program is called that came without a name. */
export const MAIN = "main.py";

/** Runs a program as a process of its own would. The session is not to be used for another one. */
export async function runScript(
  session: LiveSession,
  code: string,
  { argv = [MAIN], ...options }: ExecOptions,
): Promise<ExecResult> {
  const result = await session.exec(code, { ...options, argv });
  if (result.status !== "crashed" || result.exitCode === undefined) return result;
  const { error: _, exitCode, ...outcome } = result;
  return exitCode === 0 ? { ...outcome, status: "ok" } : { ...outcome, status: "exited", exitCode };
}
