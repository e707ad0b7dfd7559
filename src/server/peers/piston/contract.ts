import * as z from "zod";
import { PYTHON_VERSION } from "../../../sandbox/image/pyodide.ts";

/** The only runtime. */
export const RUNTIME = { language: "python", version: PYTHON_VERSION, aliases: ["py", "python3"] };

/** Limits that a request may set. Only `run_timeout` has an effect; the profile sets the others. */
export const CONSTRAINTS = ["memory_limit", "timeout", "cpu_time"].flatMap((name) => [
  `compile_${name}`,
  `run_${name}`,
]);

const limit = z.number().nullish().describe("ignored: the profile sets it");

/** File of a request. */
export const file = z.looseObject({
  name: z.string().optional(),
  content: z.string(),
  encoding: z.string().optional().describe("utf8, base64 or hex"),
});

/** Body of `/api/v2/execute`. */
export const pistonRequest = z.looseObject({
  language: z.string().min(1),
  version: z.string().min(1),
  files: z.array(file).min(1).describe("the first text file is the program"),
  stdin: z.string().nullish(),
  args: z.array(z.string()).nullish(),
  run_timeout: z.number().nullish().describe("milliseconds"),
  compile_timeout: limit,
  run_cpu_time: limit,
  compile_cpu_time: limit,
  run_memory_limit: limit,
  compile_memory_limit: limit,
}).meta({ id: "PistonExecuteRequest" });

/** Response of `/api/v2/execute`. */
export const pistonResult = z.object({
  language: z.string(),
  version: z.string(),
  run: z.object({
    stdout: z.string(),
    stderr: z.string(),
    output: z.string(),
    code: z.int().nullable(),
    signal: z.string().nullable().describe("SIGKILL, or null"),
    message: z.string().nullable(),
    status: z.string().nullable().describe("RE, SG, TO or null"),
    wall_time: z.number().describe("milliseconds"),
    cpu_time: z.null(),
    memory: z.null(),
  }),
}).meta({ id: "PistonExecuteResult" });

/** Result of a program. `signal` is set after a timeout or a crash; `output` is both streams as they were written. */
export type PistonRun = z.output<typeof pistonResult>["run"];

/** Format of errors. */
export const pistonError = z.object({ message: z.string() }).meta({ id: "PistonError" });
