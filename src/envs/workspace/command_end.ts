import type { ShellResult } from "../../sandbox/exec.ts";

/** What came of an agent's command. */
export interface CommandEnd {
  /** What it printed, and what an agent is told beside where it did not end by itself. */
  readonly output: string;
  /** False when the shell was lost, and with it every file. */
  readonly kept: boolean;
}

/** What came of a command that printed this, as the agent is told it. */
export function commandEnd(printed: string, result: ShellResult, timeoutMs: number): CommandEnd {
  const notes = [
    result.truncated ? "[What it printed beyond this was dropped.]" : "",
    stopNote(result, timeoutMs),
    result.stateKept ? "" : LOST,
  ].filter((note) => note !== "");
  const said = printed.replace(/\n$/, "");
  const output = [...(said === "" ? [] : [said]), ...notes].join("\n");
  return { output, kept: result.stateKept };
}

const LOST = "[The shell was lost, and all files with it: the episode cannot go on.]";

/** The one table of what an agent is told about a command that was stopped. */
function stopNote(result: ShellResult, timeoutMs: number): string {
  switch (result.status) {
    case "ok":
    case "exited":
      return "";
    case "timeout":
      return `[The command was stopped after ${seconds(timeoutMs)}.]`;
    case "memory":
      return "[The command was stopped as it took too much memory.]";
    case "output":
      return "[The command was stopped as it printed too much.]";
    case "crashed":
      return "[The command took the interpreter down.]";
  }
}

function seconds(ms: number): string {
  return ms === 1000 ? "1 second" : `${ms / 1000} seconds`;
}
