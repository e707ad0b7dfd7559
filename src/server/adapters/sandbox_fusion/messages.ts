import { z } from "zod";
import type { ExecResult, ShellResult } from "../../../sandbox/exec.ts";
import { MAX_FILES, MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";
import { scriptOutcome } from "../adapter.ts";

const MIN_SECONDS = 0.001;
const MAX_CELLS = 1_000;
/** What may be asked for; most of it is answered by what is not here. */
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
/** In a name it says that the file is not to be written. */
const IGNORED = "IGNORE_THIS_FILE";

/** Any number is taken, as there; what is too long is as long as may be. */
const seconds = z.number().transform((value) => Math.min(Math.max(value, MIN_SECONDS), MAX_TIMEOUT_SECONDS));
const files = z.record(z.string(), z.base64().nullable()).default({});
const fetchFiles = z.array(z.string()).max(MAX_FILES).default([]);

/** The body of `/run_code`. What it may hold beside this is passed over. */
export const programRequest = z.object({
  code: z.string(),
  language: z.enum(LANGUAGES, `Input should be ${EXPECTED}`).default("python"),
  run_timeout: seconds.default(10),
  stdin: z.string().nullable().default(null),
  files,
  fetch_files: fetchFiles,
});

/** The body of `/run_jupyter`. What it may hold beside this is passed over. */
export const cellsRequest = z.object({
  cells: z.array(z.string()).max(MAX_CELLS),
  total_timeout: seconds.default(45),
  kernel: z.string().default("python3"),
  files,
  fetch_files: fetchFiles,
});

/** What became of one run. */
export interface CommandRunResult {
  readonly status: "Finished" | "Error" | "TimeLimitExceeded";
  /** Seconds. */
  readonly execution_time: number | null;
  readonly return_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The word for a whole request. */
export type RunStatus = "Success" | "Failed" | "SandboxError";

/** A result in the words of this system. */
export function commandResult(result: ExecResult | ShellResult): CommandRunResult {
  const { stdout, stderr, exitCode } = scriptOutcome(result);
  return {
    status: exitCode === null ? "TimeLimitExceeded" : "Finished",
    execution_time: result.durationMs / 1000,
    return_code: exitCode,
    stdout,
    stderr,
  };
}

/** The word that a run's end makes of its request. */
export function runStatus({ status, return_code }: CommandRunResult): RunStatus {
  if (status === "Error") return "SandboxError";
  return status === "Finished" && return_code === 0 ? "Success" : "Failed";
}

/** The answer to what cannot be run here. */
export function refusal(message: string): {
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

/** The files of a request that are to be written. */
export function writtenFiles(files: Readonly<Record<string, string | null>>): [string, string][] {
  return Object.entries(files).flatMap(([path, contents]) =>
    contents === null || path.includes(IGNORED) ? [] : [[path, contents] as [string, string]]
  );
}
