import type { ExecOptions, ExecResult } from "../../sandbox/contract/exec.ts";
import type { ShellResult } from "../../sandbox/contract/shell.ts";
import type { LiveSession } from "../sessions/live_session.ts";

/** Name of a program that came without a name. */
export const MAIN = "main.py";

/** Runs a program as a separate process would run the program. No other program may use the session afterwards. */
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

/** The output and exit code that a process leaves. */
export interface ScriptOutcome {
  readonly stdout: string;
  /** Standard error, with the traceback of an uncaught exception, and a note if output was cut. */
  readonly stderr: string;
  /** The exit code in a shell's form; `null` after a timeout. */
  readonly exitCode: number | null;
}

/** Exit codes of a process that a signal ended, for programs whose interpreter was lost. */
const LOST = { memory: 137, crashed: 134 };

const CUT = "Output is cut: it is longer than the sandbox lets a program print\n";

/** Converts a result to the output and exit code of a process. The value of the last expression is dropped. */
export function toScriptOutcome(result: ExecResult | ShellResult): ScriptOutcome {
  const { stdout, stderr } = result;
  const traceback = "error" in result && result.status !== "timeout" ? result.error.traceback : "";
  const note = result.truncated ? CUT : "";
  return { stdout, stderr: stderr + traceback + note, exitCode: exitCodeOf(result) };
}

function exitCodeOf(result: ExecResult | ShellResult): number | null {
  switch (result.status) {
    case "ok":
      return 0;
    case "exited":
      return result.exitCode;
    case "timeout":
      return null;
    case "memory":
    case "crashed":
      return result.stateKept ? 1 : LOST[result.status];
    default:
      return 1;
  }
}

const HOME = "/home/pyodide/";

/** Returns a client's path relative to the working directory; `undefined` if the path leads out of that directory. */
export function jailPath(path: string): string | undefined {
  const inside = path.startsWith(HOME) ? path.slice(HOME.length) : path;
  const names = inside.split("/").filter((name) => name !== "" && name !== ".");
  const leaves = inside.startsWith("/") || names.length === 0 || names.includes("..");
  return leaves || /[\0\\]/.test(inside) ? undefined : names.join("/");
}
