import type { ExecResult } from "../sandbox/exec.ts";

/**
 * Returns the text that the model reads about a code block. `number` counts the blocks of a message from 1.
 */
export function resultText(number: number, result: ExecResult): string {
  const stdout = result.truncated ? joinLines([result.stdout, "[output truncated]"]) : result.stdout;
  if (result.status === "ok") return `Code block ${number} executed successfully:\n${stdout}`;
  return `Code block ${number} failed:\n${joinLines([stdout, result.stderr, failureText(result)])}`;
}

/** Returns the text about code that failed. */
function failureText(result: Exclude<ExecResult, { status: "ok" }>): string {
  const lost = result.stateKept ? "" : " - process restarted";
  switch (result.status) {
    case "error":
      return result.error.traceback || `${result.error.type}: ${result.error.message}`;
    case "timeout":
      return `Code execution timed out${lost}`;
    case "memory":
      return `Code ran out of memory${lost}`;
    case "output":
      return `Code wrote too much output and was interrupted${lost}`;
    case "exited":
      return `Code exited with exit code ${result.exitCode}${lost}`;
    case "crashed":
      return "The interpreter crashed and was restarted: all variables are lost";
  }
}

function joinLines(parts: readonly string[]): string {
  const [last = "", ...others] = parts.filter((part) => part !== "").reverse();
  return others.reverse().map((part) => part.endsWith("\n") ? part : `${part}\n`).join("") + last;
}
