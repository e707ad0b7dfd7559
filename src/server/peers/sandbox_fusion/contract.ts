import * as z from "zod";
import { nullOr } from "../../../wire/schema.ts";
import { BASE64 } from "../../../sandbox/contract/wire_forms.ts";
import { MAX_FILES, MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";

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

/** Accepts and clamps any number, as SandboxFusion does. */
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
}).meta({ id: "FusionRunRequest" });
export type FusionRequest = z.output<typeof programRequest>;

/** Body of `/run_jupyter`. Other keys are ignored. */
export const cellsRequest = z.object({
  cells: z.array(z.string()).max(MAX_CELLS),
  total_timeout: seconds.default(45),
  kernel: z.string().default("python3"),
  files,
  fetch_files: fetchFiles,
}).meta({ id: "FusionJupyterRequest" });
export type CellsRequest = z.output<typeof cellsRequest>;

/** Body of `/submit`. Other keys are ignored. */
export const submitRequest = z.object({
  dataset: z.string(),
  id: z.union([z.string(), z.number()]),
  completion: z.string(),
  config: z.object({
    dataset_type: z.string().nullish(),
    language: z.string().nullish(),
    run_timeout: programRequest.shape.run_timeout.nullish(),
    custom_extract_logic: z.string().nullish(),
    provided_data: z.unknown(),
    extra: z.looseObject({ run_all_cases: z.unknown(), return_full_case: z.unknown() }).partial().default({}),
  }),
}).meta({ id: "FusionSubmitRequest" });
export type SubmitRequest = z.output<typeof submitRequest>;

const status = z.enum(["Success", "Failed", "SandboxError"]);
const fetched = z.record(z.string(), z.string()).describe("contents in base64, by path");

/** Status of a request. */
export type RunStatus = z.output<typeof status>;

/** Result of a run. */
const commandResult = z.object({
  status: z.enum(["Finished", "Error", "TimeLimitExceeded"]),
  execution_time: z.number().nullable().describe("seconds"),
  return_code: z.int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
}).meta({ id: "FusionCommandResult" });
export type CommandRunResult = z.output<typeof commandResult>;

/** Response of `/run_code`. */
export const programResult = z.object({
  status,
  message: z.string(),
  compile_result: z.null(),
  run_result: nullOr(commandResult),
  executor_pod_name: z.null(),
  files: fetched,
}).meta({ id: "FusionRunResult" });
export type ProgramResponse = z.output<typeof programResult>;

/** Result of a cell. */
const cell = z.object({
  stdout: z.string(),
  stderr: z.string(),
  display: z.array(z.record(z.string(), z.unknown())).describe("MIME bundles"),
  error: z.array(z.object({ ename: z.string(), evalue: z.string(), traceback: z.array(z.string()) })),
}).meta({ id: "FusionCell" });
export type CellResult = z.output<typeof cell>;

/** Response of `/run_jupyter`. */
export const cellsResult = z.object({
  status,
  message: z.string(),
  driver: nullOr(commandResult),
  cells: z.array(cell),
  executor_pod_name: z.null(),
  files: fetched,
}).meta({ id: "FusionJupyterResult" });
export type CellsResponse = z.output<typeof cellsResult>;

const streams = z.record(z.string(), z.string());
const testOutcome = z.object({
  passed: z.boolean(),
  exec_info: programResult,
  test_info: z.object({ input: streams, output: streams }),
});
export type TestOutcome = z.output<typeof testOutcome>;

/** Response of `/submit`. */
export const submitResult = z.object({
  id: z.union([z.string(), z.number()]),
  accepted: z.boolean(),
  extracted_code: z.string(),
  full_code: z.null(),
  test_code: z.null(),
  tests: z.array(testOutcome),
  extracted_type: z.null(),
  extra: z.null(),
}).meta({ id: "FusionSubmitResult" });
export type SubmitResponse = z.output<typeof submitResult>;
