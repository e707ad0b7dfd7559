import * as z from "zod";
import { MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";

/** Body of `/execute`. Other keys are ignored. */
export const nemoRequest = z.object({
  generated_code: z.string(),
  std_input: z.string().nullish(),
  timeout: z.number().positive().max(MAX_TIMEOUT_SECONDS).default(10),
  language: z.string().default("ipython"),
  max_output_characters: z.int().nonnegative().default(1_000),
  traceback_verbosity: z.enum(["Plain", "Context", "Verbose", "Minimal"]).default("Plain"),
}).meta({ id: "NemoExecuteRequest" });
export type NemoRequest = z.output<typeof nemoRequest>;

/** Response of `/execute`. Only sessions have `new_session_created`. */
export const nemoResult = z.object({
  process_status: z.enum(["completed", "error", "timeout"]),
  stdout: z.string(),
  stderr: z.string(),
  new_session_created: z.boolean().optional(),
}).meta({ id: "NemoExecuteResult" });
export type NemoResponse = z.output<typeof nemoResult>;

/** A session of the list. */
const session = z.object({
  backend: z.string(),
  created: z.number().describe("seconds since 1970"),
  last_used: z.number().describe("seconds since 1970"),
  alive: z.boolean(),
}).meta({ id: "NemoSession" });

/** Response of `/sessions`: the sessions by name. */
export const sessionList = z.object({ sessions: z.record(z.string(), session), backend: z.string() });
export type NemoSessions = z.output<typeof sessionList>;

/** Format of errors. */
export const nemoError = z.object({ error: z.string() }).meta({ id: "NemoError" });
