import type { ShellDeadline, ShellResult } from "../../sandbox/exec.ts";

/** Result of an agent's command. */
export interface CommandResult {
  /** Output of the command, and a note for the agent if the command was stopped. */
  readonly output: string;
  /** False if the shell and all its files were lost. */
  readonly stateKept: boolean;
}

/** Time limits of a command, in milliseconds. */
export interface CommandTimeouts {
  readonly timeoutMs: number;
  /** Maximum time without output. */
  readonly silenceMs?: number | undefined;
}

/** Returns the result of a command as the agent sees it. */
export function toCommandResult(
  printed: string,
  result: ShellResult,
  limits: CommandTimeouts,
): CommandResult {
  const kept = result.stateKept && !result.restarted;
  const notes = [
    result.truncated ? "[What it printed beyond this was dropped.]" : "",
    stopNote(result, limits),
    kept ? "" : LOST,
  ].filter((note) => note !== "");
  const text = printed.replace(/\n$/, "");
  const output = [...(text === "" ? [] : [text]), ...notes].join("\n");
  return { output, stateKept: kept };
}

const LOST = "[The shell was lost, and all files with it: the episode cannot go on.]";

/** Returns the note for the agent about a command that was stopped. */
function stopNote(result: ShellResult, limits: CommandTimeouts): string {
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

function timeoutNote(deadline: ShellDeadline, { timeoutMs, silenceMs = timeoutMs }: CommandTimeouts): string {
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
