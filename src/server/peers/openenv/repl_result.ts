import * as z from "zod";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";

/** Result of a program, in the form of OpenEnv's `repl_env`. */
export const blockResult = z.strictObject({
  stdout: z.string(),
  stderr: z.string(),
  locals_snapshot: z.record(z.string(), z.string()),
  execution_time: z.number(),
  success: z.boolean(),
  exception: z.string().nullable(),
});

/** Result of a program. */
export type BlockResult = z.output<typeof blockResult>;

/** Result of a step without a program. */
export const NOTHING: BlockResult = {
  stdout: "",
  stderr: "",
  locals_snapshot: {},
  execution_time: 0,
  success: true,
  exception: null,
};

/** Characters of stdout and stderr each. */
const OUTPUT_CHARACTERS = 8_192;

/** Converts a result. The value of the last expression follows the output. */
export function toBlockResult(exec: ExecResult): BlockResult {
  const exception = exceptionOf(exec);
  const shown = exec.status === "ok" ? valueText(exec) : "";
  return {
    stdout: cut([exec.stdout.trimEnd(), shown].filter((part) => part !== "").join("\n")),
    stderr: cut([exec.stderr, exception ?? ""].filter((part) => part !== "").join("\n")),
    locals_snapshot: {},
    execution_time: exec.durationMs / 1000,
    success: exec.status === "ok",
    exception: exception === null ? null : cut(exception),
  };
}

function valueText({ value = "", valueJson }: Extract<ExecResult, { status: "ok" }>): string {
  return valueJson === undefined ? value : pythonJson(valueJson);
}

function exceptionOf(exec: ExecResult): string | null {
  if (exec.status === "ok") return null;
  if (exec.status === "exited") return `SystemExit: ${exec.exitCode}`;
  if (!("error" in exec)) return exec.status;
  const { type, message, traceback } = exec.error;
  return `${type}: ${message}\n${traceback}`;
}

/** Returns JSON in the form of Python's `json.dumps`. */
function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${
      Object.entries(value).map(([key, item]) => `${pythonJson(key)}: ${pythonJson(item)}`).join(", ")
    }}`;
  }
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function cut(text: string): string {
  if (text.length <= OUTPUT_CHARACTERS) return text;
  return `${text.slice(0, OUTPUT_CHARACTERS)}\n... (truncated, total ${text.length} chars)`;
}
