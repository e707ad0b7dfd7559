import type { ExecResult } from "../../sandbox/exec.ts";
import { jsonOfRepr } from "./json_of_repr.ts";

/**
 * Formats a result as clients of `run_python_code` expect it. `output` is the printed text, in order. Tags in it are
 * escaped, so that a program cannot close its element.
 */
export function formatRun(result: ExecResult, output: string): string {
  const printed = output === "" ? [] : [element("output", output)];
  if (result.status === "ok") {
    const value = jsonOfRepr(result.value ?? "") ?? result.value;
    const returned = value ? [element("return_value", value)] : [];
    return ["<status>success</status>", ...printed, ...returned].join("\n");
  }
  const raised = "error" in result ? result.error.traceback : `SystemExit: ${result.exitCode}`;
  return ["<status>run-error</status>", ...printed, element("error", raised)].join("\n");
}

function element(name: string, text: string): string {
  const tag = new RegExp(`</?\\s*${name}(?:[^\\n<>]*>)?`, "gi");
  const safe = text.replace(tag, (found) => found.replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
  return `<${name}>\n${safe.replace(/\n$/, "")}\n</${name}>`;
}
