import type { ExecResult } from "../../sandbox/exec.ts";

/** What a program raised. */
export interface ExecutionError {
  readonly name: string;
  readonly value: string;
  readonly traceback: string;
}

/** The value of a program's last expression. */
export interface MainResult {
  readonly text: string;
  readonly is_main_result: true;
}

/** What became of a program, as E2B's clients keep it. */
export interface Execution {
  readonly results: readonly MainResult[];
  readonly logs: { readonly stdout: readonly string[]; readonly stderr: readonly string[] };
  readonly error: ExecutionError | null;
  readonly execution_count: number;
}

/** A result in the form of E2B, of a program that was the first of its interpreter's. */
export function execution(result: ExecResult): Execution {
  const { stdout, stderr } = result;
  return {
    results: mainResults(result),
    logs: { stdout: pieces(stdout), stderr: pieces(stderr) },
    error: executionError(result) ?? null,
    execution_count: 1,
  };
}

/** The value of the last expression, where there is one. */
export function mainResults(result: ExecResult): MainResult[] {
  if (result.status !== "ok" || result.value === undefined) return [];
  return [{ text: unquoted(result.value), is_main_result: true }];
}

/** What a program raised, where it did. */
export function executionError(result: ExecResult): ExecutionError | undefined {
  if (result.status === "exited") {
    const value = String(result.exitCode);
    return { name: "SystemExit", value, traceback: `SystemExit: ${value}\n` };
  }
  if (!("error" in result)) return undefined;
  const { type: name, message: value, traceback } = result.error;
  return { name, value, traceback };
}

function pieces(text: string): string[] {
  return text === "" ? [] : [text];
}

/** A text as it is, and not as a prompt would show it. */
function unquoted(value: string): string {
  return /^(['"]).*\1$/s.test(value) && value.length > 1 ? value.slice(1, -1) : value;
}
