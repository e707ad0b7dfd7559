import { requireKnownOptions } from "../options.ts";
import * as z from "zod";
import type { PythonSession } from "../sandbox/contract/pool.ts";
import type { ShellResult } from "../sandbox/contract/shell.ts";
import { type Tool, tool } from "./tool.ts";

/** Options of {@linkcode shellTool}. */
export interface ShellToolOptions {
  /** The session that runs the commands. The caller owns the session; use a session for each episode. */
  session: Pick<PythonSession, "shell">;
  /**
   * Maximum duration of a command, in milliseconds.
   * @default 30_000
   */
  timeoutMs?: number | undefined;
}

/**
 * Extra time of a call beyond `timeoutMs`, in milliseconds. An interrupted command ends within that time, so
 * the output still reaches the model.
 */
const GRACE_MS = 60_000;
const TIMEOUT_MS = 30_000;

/**
 * Makes a tool that runs commands in a session's shell. The text of the result reports failures.
 *
 * @example
 * ```ts
 * import { loadProfile, Sandbox } from "@paddock/paddock/sandbox";
 * import { shellTool } from "@paddock/paddock/tools";
 *
 * await using sandbox = await Sandbox.start({ profile: await loadProfile("workspace") });
 * const shell = shellTool({ session: await sandbox.openSession(), timeoutMs: 10_000 });
 * ```
 */
export function shellTool(options: ShellToolOptions): Tool {
  requireKnownOptions("call shellTool", options, { session: true, timeoutMs: true });
  const { session, timeoutMs = TIMEOUT_MS } = options;
  return tool({
    name: "shell",
    description: "Runs a command line in a bash-like shell and gives its output. Directory, variables and " +
      "functions last from call to call, and `python` runs Python programs. There is no network.",
    parameters: z.object({ command: z.string().describe("The command line, of one line or several.") }),
    timeoutMs: timeoutMs + GRACE_MS,
    run: async ({ command }, { signal }) => shellText(await session.shell(command, { timeoutMs, signal })),
  });
}

/** Returns the text that the model reads about a command. */
export function shellText(result: ShellResult): string {
  const { stdout, stderr, truncated } = result;
  const lines = [stdout, truncated ? "[output truncated]" : "", stderr, endText(result)];
  return lines.filter((text) => text !== "").map((text) => text.endsWith("\n") ? text : `${text}\n`).join("")
    .replace(/\n$/, "");
}

/** Returns the text about how a command ended. */
function endText(result: ShellResult): string {
  const lost = !result.stateKept
    ? "; the shell was restarted, and its variables and files are lost"
    : result.restoredFrom
    ? "; the shell and its files were restored to an earlier state"
    : "";
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
