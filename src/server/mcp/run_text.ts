import type { ExecResult } from "../../sandbox/exec.ts";

/** A result in the form that clients of `run_python_code` know; `output` is what was printed, in its order. */
export function runText(result: ExecResult, output: string): string {
  const printed = output === "" ? [] : [element("output", output)];
  if (result.status === "ok") {
    const value = result.value === undefined ? [] : [element("return_value", result.value)];
    return ["<status>success</status>", ...printed, ...value].join("\n");
  }
  const raised = "error" in result ? result.error.traceback : `SystemExit: ${result.exitCode}`;
  return ["<status>run-error</status>", ...printed, element("error", raised)].join("\n");
}

function element(name: string, text: string): string {
  return `<${name}>\n${text.replace(/\n$/, "")}\n</${name}>`;
}
