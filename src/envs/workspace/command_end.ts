import type { ShellDeadline, ShellResult } from "../../sandbox/exec.ts";

/** What came of an agent's command. */
export interface CommandEnd {
  /** What it printed, and what an agent is told beside where it did not end by itself. */
  readonly output: string;
  /** False when the shell was lost, and with it every file. */
  readonly kept: boolean;
}

/** How long a command might have taken. */
export interface CommandTimes {
  readonly timeoutMs: number;
  /** How long it might have written nothing. */
  readonly silenceMs?: number | undefined;
}

/** What came of a command that printed this, as the agent is told it. */
export function commandEnd(printed: string, result: ShellResult, limits: CommandTimes): CommandEnd {
  const kept = result.stateKept && !result.restarted;
  const notes = [
    result.truncated ? "[What it printed beyond this was dropped.]" : "",
    stopNote(result, limits),
    kept ? "" : LOST,
  ].filter((note) => note !== "");
  const said = printed.replace(/\n$/, "");
  const output = [...(said === "" ? [] : [said]), ...notes].join("\n");
  return { output, kept };
}

const LOST = "[The shell was lost, and all files with it: the episode cannot go on.]";

/** The one table of what an agent is told about a command that was stopped. */
function stopNote(result: ShellResult, limits: CommandTimes): string {
  switch (result.status) {
    case "ok":
    case "exited":
      return "";
    case "timeout":
      return timeoutNote(result.deadline, limits);
    case "memory":
      return "[The command was stopped as it took too much memory.]";
    case "output":
      return "[The command was stopped as it printed too much.]";
    case "crashed":
      return "[The command took the interpreter down.]";
  }
}

function timeoutNote(deadline: ShellDeadline, { timeoutMs, silenceMs = timeoutMs }: CommandTimes): string {
  switch (deadline) {
    case "run":
      return `[The command was stopped as it was not done after ${seconds(timeoutMs)}.]`;
    case "silence":
      return `[The command was stopped as it printed nothing for ${seconds(silenceMs)}.]`;
    case "cpu":
      return "[The command was stopped as it used up its CPU time.]";
  }
}

function seconds(ms: number): string {
  return ms === 1000 ? "1 second" : `${ms / 1000} seconds`;
}
