import type { ExecResult } from "../sandbox/exec.ts";

/**
 * The result of a code block as one line of JSON, for models that are trained on records: `block`, `status`,
 * `stdout`, `stderr`, `truncated` and `state_kept` always, `value`, `exit_code` and `error` where there is one. It
 * holds no times, so that the same program gives the same tokens.
 */
export function resultRecord(number: number, result: ExecResult): string {
  const { status, stdout, stderr, truncated, stateKept } = result;
  return JSON.stringify({
    block: number,
    status,
    stdout,
    stderr,
    ...("value" in result && { value: result.value }),
    ...("exitCode" in result && { exit_code: result.exitCode }),
    ...("error" in result && { error: result.error }),
    truncated,
    state_kept: stateKept,
  });
}
