import type { ExecResult } from "../../sandbox/exec.ts";

/** Exception of a program. */
export interface ExecutionError {
  readonly name: string;
  readonly value: string;
  readonly traceback: string;
}

/** Value of the last expression of a program. */
export interface MainResult {
  readonly text: string;
  readonly is_main_result: true;
}

/** Result of a program in E2B's format. */
export interface Execution {
  readonly results: readonly MainResult[];
  readonly logs: { readonly stdout: readonly string[]; readonly stderr: readonly string[] };
  readonly error: ExecutionError | null;
  readonly execution_count: number;
}

/** Converts the result of an interpreter's first program to E2B's format. */
export function toExecution(result: ExecResult): Execution {
  const { stdout, stderr } = result;
  return {
    results: mainResultsOf(result),
    logs: { stdout: toList(stdout), stderr: toList(stderr) },
    error: executionErrorOf(result) ?? null,
    execution_count: 1,
  };
}

/** Returns the value of the last expression, if any. */
export function mainResultsOf(result: ExecResult): MainResult[] {
  if (result.status !== "ok" || result.value === undefined) return [];
  return [{ text: unquote(result.value), is_main_result: true }];
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
