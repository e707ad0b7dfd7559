import * as z from "zod";
import type { ExecResult, ShellResult } from "../../../sandbox/exec.ts";
import { BASE64 } from "../../../wire/v1.ts";
import { MAX_FILES, MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";
import { toScriptOutcome } from "../peer.ts";

const MIN_SECONDS = 0.001;
const MAX_CELLS = 1_000;
/** Languages that a request may name. Most of them are refused. */
const LANGUAGES = [
  "python",
  "cpp",
  "nodejs",
  "go",
  "go_test",
  "java",
  "php",
  "csharp",
  "bash",
  "typescript",
  "sql",
  "rust",
  "cuda",
  "lua",
  "R",
  "perl",
  "D_ut",
  "ruby",
  "scala",
  "julia",
  "pytest",
  "junit",
  "kotlin_script",
  "jest",
  "verilog",
  "python_gpu",
  "lean",
  "swift",
  "racket",
] as const;
const EXPECTED = LANGUAGES.map((name) => `'${name}'`).join(", ").replace(/, (?=[^,]*$)/, " or ");
/** Files whose name contains this are not written. */
const IGNORED = "IGNORE_THIS_FILE";

/** Accepts any number, as SandboxFusion does, and clamps it. */
const seconds = z.number().transform((value) => Math.min(Math.max(value, MIN_SECONDS), MAX_TIMEOUT_SECONDS));
const files = z.record(z.string(), z.base64().meta({ pattern: BASE64 }).nullable()).default({});
const fetchFiles = z.array(z.string()).max(MAX_FILES).default([]);

/** Body of `/run_code`. Other keys are ignored. */
export const programRequest = z.object({
  code: z.string(),
  language: z.enum(LANGUAGES, `Input should be ${EXPECTED}`).default("python"),
  compile_timeout: seconds.default(10),
  run_timeout: seconds.default(10),
  memory_limit_MB: z.number().default(-1),
  stdin: z.string().nullable().default(null),
  files,
  fetch_files: fetchFiles,
});

/** Body of `/run_jupyter`. Other keys are ignored. */
export const cellsRequest = z.object({
  cells: z.array(z.string()).max(MAX_CELLS),
  total_timeout: seconds.default(45),
  kernel: z.string().default("python3"),
  files,
  fetch_files: fetchFiles,
});

/** Result of one run. */
export interface CommandRunResult {
  readonly status: "Finished" | "Error" | "TimeLimitExceeded";
  /** Seconds. */
  readonly execution_time: number | null;
  readonly return_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Status of a request. */
export type RunStatus = "Success" | "Failed" | "SandboxError";

/** Converts a result to SandboxFusion's format. */
export function toCommandResult(result: ExecResult | ShellResult): CommandRunResult {
  const { stdout, stderr, exitCode } = toScriptOutcome(result);
  return {
    status: exitCode === null ? "TimeLimitExceeded" : "Finished",
    execution_time: result.durationMs / 1000,
    return_code: exitCode,
    stdout,
    stderr,
  };
}

/** Returns the status of a request from its run. */
export function runStatusOf({ status, return_code }: CommandRunResult): RunStatus {
  if (status === "Error") return "SandboxError";
  return status === "Finished" && return_code === 0 ? "Success" : "Failed";
}

/** Returns the response to a program that cannot run on this server. */
export function toRefusal(message: string): {
  status: RunStatus;
  message: string;
  compile_result: null;
  run_result: null;
  executor_pod_name: null;
  files: Record<string, string>;
} {
  return {
    status: "SandboxError",
    message,
    compile_result: null,
    run_result: null,
    executor_pod_name: null,
    files: {},
  };
}

/** Returns the files of a request to write. */
export function filesToWrite(files: Readonly<Record<string, string | null>>): [string, string][] {
  return Object.entries(files).flatMap(([path, contents]) =>
    contents === null || path.includes(IGNORED) ? [] : [[path, contents] as [string, string]]
  );
}
