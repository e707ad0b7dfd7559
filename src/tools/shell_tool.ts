import { z } from "zod";
import type { PythonSession, ShellResult } from "../sandbox/exec.ts";
import { type Tool, tool } from "./tool.ts";

/** What a {@linkcode shellTool} is given. */
export interface ShellToolOptions {
  /** The session whose shell the model types into; it stays the caller's, one for each episode. */
  session: Pick<PythonSession, "shell">;
  /** Milliseconds that a command may take; 30,000 unless given. */
  timeoutMs?: number | undefined;
}

/** Longer than an interrupted command may take to end, so that its output still reaches the model. */
const GRACE_MS = 60_000;
const TIMEOUT_MS = 30_000;

/** A tool by which the model runs commands in a session's shell; what failed is told in the text of the answer. */
export function shellTool({ session, timeoutMs = TIMEOUT_MS }: ShellToolOptions): Tool {
  return tool({
    name: "shell",
    description: "Runs a command line in a bash-like shell and gives its output. Directory, variables and " +
      "functions last from call to call, and `python` runs Python programs. There is no network.",
    parameters: z.object({ command: z.string().describe("The command line, of one line or several.") }),
    timeoutMs: timeoutMs + GRACE_MS,
    run: async ({ command }, { signal }) => shellText(await session.shell(command, { timeoutMs, signal })),
  });
}

/** What became of a command line as the model reads it. */
export function shellText(result: ShellResult): string {
  const { stdout, stderr, truncated } = result;
  const lines = [stdout, truncated ? "[output truncated]" : "", stderr, endText(result)];
  return lines.filter((text) => text !== "").map((text) => text.endsWith("\n") ? text : `${text}\n`).join("")
    .replace(/\n$/, "");
}

/** The one table of what the model is told about a command that did not end well. */
function endText(result: ShellResult): string {
  const lost = result.stateKept ? "" : "; the shell was restarted, and its variables and files are lost";
  switch (result.status) {
    case "ok":
      return "";
    case "exited":
      return `[exit code ${result.exitCode}]`;
    case "timeout":
      return `[timed out${lost}]`;
    case "memory":
      return `[out of memory${lost}]`;
    case "output":
      return `[interrupted, as it wrote too much${lost}]`;
    case "crashed":
      return `[crashed${lost}]`;
  }
}
