import type { JsonValue } from "../../../../json.ts";
import { shownBundlesOf } from "../../../../sandbox/display.ts";
import type { ExecResult } from "../../../../sandbox/contract/exec.ts";
import type { Execution, ExecutionError, ShownResult } from "../contract.ts";

/** Converts the result of an interpreter's first program to E2B's format. */
export function toExecution(result: ExecResult): Execution {
  const { stdout, stderr } = result;
  return {
    results: shownResultsOf(result),
    logs: { stdout: toList(stdout), stderr: toList(stderr) },
    error: executionErrorOf(result) ?? null,
    execution_count: 1,
  };
}

/** E2B's names of MIME types. */
const FORMATS: Readonly<Record<string, string>> = {
  "text/plain": "text",
  "text/html": "html",
  "text/markdown": "markdown",
  "image/svg+xml": "svg",
  "image/png": "png",
  "image/jpeg": "jpeg",
  "application/pdf": "pdf",
  "text/latex": "latex",
  "application/json": "json",
  "application/javascript": "javascript",
};

/** Returns the objects that a program showed, in order, and the value of the last expression, which is the main result. */
export function shownResultsOf(result: ExecResult): ShownResult[] {
  return shownBundlesOf(result).map(({ bundle, isMain }) => {
    const formats: Record<string, JsonValue> = {};
    const extra: Record<string, JsonValue> = {};
    for (const [type, data] of Object.entries(bundle)) {
      const name = FORMATS[type];
      if (name === undefined) extra[type] = data;
      else formats[name] = name === "text" && typeof data === "string" ? unquote(data) : data;
    }
    return { ...formats, ...(Object.keys(extra).length > 0 && { extra }), is_main_result: isMain };
  });
}

/** Returns the exception of a program, if any. */
export function executionErrorOf(result: ExecResult): ExecutionError | undefined {
  if (result.status === "exited") {
    const value = String(result.exitCode);
    return { name: "SystemExit", value, traceback: `SystemExit: ${value}\n` };
  }
  if (!("error" in result)) return undefined;
  const { type: name, message: value, traceback } = result.error;
  return { name, value, traceback };
}

function toList(text: string): string[] {
  return text === "" ? [] : [text];
}

/** Removes the quotes of a string's repr. */
function unquote(value: string): string {
  return /^(['"]).*\1$/s.test(value) && value.length > 1 ? value.slice(1, -1) : value;
}
