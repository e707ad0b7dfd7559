import type { JsonValue } from "../../../json.ts";
import { shownBundlesOf } from "../../../sandbox/display.ts";
import type { ExecResult } from "../../../sandbox/exec.ts";

/** Exception of a program. */
export interface ExecutionError {
  readonly name: string;
  readonly value: string;
  readonly traceback: string;
}

/** An object that a program showed, or the value of its last expression. */
export interface ShownResult extends Readonly<Record<string, JsonValue>> {
  readonly is_main_result: boolean;
}

/** Result of a program in E2B's format. */
export interface Execution {
  readonly results: readonly ShownResult[];
  readonly logs: { readonly stdout: readonly string[]; readonly stderr: readonly string[] };
  readonly error: ExecutionError | null;
  readonly execution_count: number;
}

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

/** Returns what a program showed, in order, and the value of its last expression, which is its main result. */
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
