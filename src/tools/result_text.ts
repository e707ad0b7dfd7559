import { shownBundlesOf } from "../sandbox/display.ts";
import type { ExecResult } from "../sandbox/contract/exec.ts";

/**
 * Returns the text that the model reads about a code block: the output, shown objects as text, and the reason of a
 * failure. `number` counts the blocks of a message from 1.
 */
export function resultText(number: number, result: ExecResult): string {
  const printed = result.truncated ? joinLines([result.stdout, "[output truncated]"]) : result.stdout;
  const shown = shownTexts(result);
  const stdout = shown.length > 0 ? joinLines([printed, ...shown]) : printed;
  if (result.status === "ok") return `Code block ${number} executed successfully:\n${stdout}`;
  return `Code block ${number} failed:\n${joinLines([stdout, result.stderr, failureText(result)])}`;
}

/** Returns the text about code that failed. */
function failureText(result: Exclude<ExecResult, { status: "ok" }>): string {
  const lost = !result.stateKept
    ? " - process restarted"
    : result.restoredFrom
    ? " - earlier state restored"
    : "";
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
      return result.stateKept
        ? "The interpreter crashed and was restored to an earlier state"
        : "The interpreter crashed and was restarted: all variables are lost";
    case "waiting":
      return `Code waits for the answer to '${result.call.callId}' (${result.call.name})`;
    case "diverged":
      return `Code made other calls when it ran again: ${result.error.message}`;
  }
}

/** Returns what the code showed by `display()` as text, such as the repr of each object. Data without text is named. */
function shownTexts(result: ExecResult): string[] {
  return shownBundlesOf(result).filter(({ isMain }) => !isMain).map(({ bundle }) => {
    const text = bundle["text/plain"];
    return typeof text === "string" ? text : `<${Object.keys(bundle).join(", ")}>`;
  });
}

function joinLines(parts: readonly string[]): string {
  const [last = "", ...others] = parts.filter((part) => part !== "").reverse();
  return others.reverse().map((part) => part.endsWith("\n") ? part : `${part}\n`).join("") + last;
}

/**
 * Returns the result of a code block as a line of JSON, for models that are trained on records. The fields `block`,
 * `status`, `stdout`, `stderr`, `truncated` and `state_kept` are always present; `value`, `exit_code` and `error` when the
 * result has them, and `display`, the texts of shown objects. Durations are left out, so that the same program gives the
 * same tokens.
 */
export function resultRecord(number: number, result: ExecResult): string {
  const { status, stdout, stderr, truncated, stateKept } = result;
  const display = shownTexts(result);
  return JSON.stringify({
    block: number,
    status,
    stdout,
    stderr,
    ...("value" in result && { value: result.value }),
    ...(display.length > 0 && { display }),
    ...(result.status === "exited" && { exit_code: result.exitCode }),
    ...("error" in result && { error: result.error }),
    truncated,
    state_kept: stateKept,
  });
}

/** Options of {@linkcode resultJson}. */
export interface ResultJsonOptions {
  /**
   * Spaces for each level of nesting.
   * @default no line breaks
   */
  indent?: number | undefined;
  /**
   * If true, writes each non-ASCII character as `\uXXXX`.
   * @default false
   */
  ascii?: boolean | undefined;
}

/**
 * Returns the result of a tool as JSON; `undefined` gives `null`.
 *
 * @throws {TypeError} when the value is circular or contains a bigint.
 */
export function resultJson(value: unknown, options: ResultJsonOptions = {}): string {
  const json = JSON.stringify(value, null, options.indent) ?? "null";
  return options.ascii ? json.replace(/[\x80-\uffff]/g, escapeCharacter) : json;
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
