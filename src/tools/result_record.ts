import type { ExecResult } from "../sandbox/exec.ts";

/**
 * Returns the result of a code block as one line of JSON, for models that are trained on records. The fields
 * `block`, `status`, `stdout`, `stderr`, `truncated` and `state_kept` are always present; `value`,
 * `exit_code` and `error` when the result has them. Durations are left out, so that the same program gives
 * the same tokens.
 */
export function resultRecord(number: number, result: ExecResult): string {
  const { status, stdout, stderr, truncated, stateKept } = result;
  return JSON.stringify({
    block: number,
    status,
    stdout,
    stderr,
    ...("value" in result && { value: result.value }),
    ...(result.status === "exited" && { exit_code: result.exitCode }),
    ...("error" in result && { error: result.error }),
    truncated,
    state_kept: stateKept,
  });
}
