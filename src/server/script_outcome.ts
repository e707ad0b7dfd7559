import type { ExecResult, ShellResult } from "../sandbox/exec.ts";

/** What a program leaves that runs as a process does. */
export interface ScriptOutcome {
  readonly stdout: string;
  /** With the traceback of what it raised, and a word when output was cut. */
  readonly stderr: string;
  /** As a shell would see it; `null` when its time was over. */
  readonly exitCode: number | null;
}

/** The exit code of a process that a signal ended, where the interpreter was lost. */
const LOST = { memory: 137, crashed: 134 };

const CUT = "Output is cut: it is longer than the sandbox lets a program print\n";

/**
 * A result as if the program had been a process: the value of its last expression is lost. A command line is one
 * already.
 */
export function scriptOutcome(result: ExecResult | ShellResult): ScriptOutcome {
  const { stdout, stderr } = result;
  const raised = "error" in result && result.status !== "timeout" ? result.error.traceback : "";
  const cut = result.truncated ? CUT : "";
  return { stdout, stderr: stderr + raised + cut, exitCode: exitCode(result) };
}

function exitCode(result: ExecResult | ShellResult): number | null {
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
