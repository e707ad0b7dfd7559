/**
 * The JSON of `/v1` about programs and files. The server announces these schemas in
 * `/openapi.json` and checks requests with them; the client checks responses with them. Unknown keys are errors in
 * requests and ignored in responses, so that a client can read the responses of a newer server.
 *
 * @module
 */
import * as z from "zod";
import type { JsonValue } from "../json.ts";
import { EXEC_FIELDS, SHELL_FIELDS } from "../sandbox/contract/exec_fields.ts";
import { MAX_BATCH_ITEMS, MAX_NAME_CHARACTERS } from "./limits.ts";
import { optionalKey } from "./schema.ts";
import { callAnswerShape, callEventSchema, givesOneOf } from "./v1_tools.ts";

/** Version of the JSON of `/v1`. The version rises when older clients cannot read newer responses. */
export const V1_FORMAT = 1;
/** The response header that states {@linkcode V1_FORMAT}. */
export const V1_FORMAT_HEADER = "x-paddock-format";

const { suspendAt, ...program } = EXEC_FIELDS.json;

/** A program to run. */
export const execRequestSchema = z.strictObject({ code: z.string(), ...program });

/** A program to run in a session that clients find by the session's id. */
export const sessionExecRequestSchema = execRequestSchema.extend({ suspendAt }).meta({ id: "ExecRequest" });

/** The answer to the call that a program waits for. */
export const resumeRequestSchema = z.strictObject({
  callId: callEventSchema.shape.callId.optional()
    .describe("the call that is answered; default: the one that waits"),
  ...callAnswerShape,
  timeoutMs: execRequestSchema.shape.timeoutMs,
}).refine(...givesOneOf).meta({ id: "ResumeRequest" });

/** An exception of the guest. */
export const guestErrorSchema = z.object({ type: z.string(), message: z.string(), traceback: z.string() });

/** Refused attempts by kind. */
export const deniedAttemptsSchema = z
  .partialRecord(z.enum(["files", "network", "processes", "javascript"]), z.number().int().nonnegative())
  .describe("refused attempts, as the guest counted them: advice only; absent if there were none");

/** An object that a program showed, in one or more forms by MIME type: base64, JSON or text. */
export const mimeBundleSchema = z.record(z.string(), z.unknown() as z.core.$ZodType<JsonValue>)
  .describe(
    "forms by MIME type: base64 (images but SVG, audio, video, PDF), JSON or text; data of the program",
  );

/** A checkpoint to which a session returned by itself. */
const restoredFromSchema = z.object({
  lostCalls: z.int().nonnegative()
    .describe(
      "programs, commands and written files that had ended after the checkpoint, whose effects are lost",
    ),
  ageMs: z.number().nonnegative().describe("age of the checkpoint, in milliseconds"),
}).meta({
  id: "RestoredFrom",
  description:
    "checkpoint to which the session returned, as its interpreter was lost in this program or before it",
});

/** The result of a program. */
export const execResultSchema = z.object({
  status: z.enum(["ok", "error", "timeout", "memory", "output", "exited", "crashed", "waiting", "diverged"]),
  stdout: z.string(),
  stderr: z.string(),
  value: optionalKey(z.string()).describe("repr of the last expression, unless that is None"),
  valueJson: optionalKey(z.unknown() as z.core.$ZodType<JsonValue>)
    .describe("the last expression's value, if it is plain data that is not None or too large"),
  error: optionalKey(guestErrorSchema),
  exitCode: optionalKey(z.number().int())
    .describe("with exited; with crashed, if the program ended the interpreter with an exit code"),
  call: optionalKey(callEventSchema)
    .describe("with waiting, the call that waits for its answer; with diverged, the call of the first run"),
  durationMs: z.number(),
  stateKept: z.boolean().describe(
    "false if the interpreter was lost; the next program runs in a new one. With restoredFrom, the session continues a checkpoint",
  ),
  truncated: z.boolean(),
  display: optionalKey(z.array(mimeBundleSchema))
    .describe(
      "what the program showed, in order: at most 100 bundles of 8 MiB together; absent if there is none",
    ),
  droppedDisplays: optionalKey(z.number().int().nonnegative())
    .describe("bundles beyond these limits, or with a form that is not what its MIME type says"),
  peakMemoryBytes: optionalKey(z.number().int().nonnegative())
    .describe(
      "peak size of the interpreter's heap until the end of the program, in bytes; advice, as the guest measures it; absent if the interpreter was lost",
    ),
  denied: optionalKey(deniedAttemptsSchema),
  digest: optionalKey(z.string())
    .describe(
      "with a virtual clock, SHA-256 of code, inputs, result and files, chained from image, profile and seed",
    ),
  inexact: optionalKey(z.literal(true))
    .describe("with a virtual clock, a limit of real time, CPU time or memory ended the program"),
  restarted: optionalKey(z.literal(true))
    .describe("this program ran in a new interpreter, since the previous one was lost"),
  restoredFrom: optionalKey(restoredFromSchema),
  files: optionalKey(z.record(z.string(), z.string())).describe("the requested files, in base64"),
}).meta({ id: "ExecResult" });

/** A piece of output: the data of the events `stdout` and `stderr`. */
export const outputEventSchema = z.object({ text: z.string() });

/** Object that a program shows: the data of the event `display`. */
export const displayEventSchema = z.object({ data: mimeBundleSchema });

/** A command line to run. */
export const shellRequestSchema = z.strictObject({ command: z.string(), ...SHELL_FIELDS.json })
  .meta({ id: "ShellRequest" });

/** The result of a command line. */
export const shellResultSchema = execResultSchema.omit({
  value: true,
  valueJson: true,
  files: true,
  call: true,
}).extend({
  status: execResultSchema.shape.status.exclude(["error", "waiting", "diverged"]),
  deadline: optionalKey(z.enum(["run", "silence", "cpu"])).describe("the deadline that was exceeded"),
  cwd: z.string().describe("working directory of the shell after the command"),
}).meta({ id: "ShellResult" });

/** The reason why a request failed. */
export const requestErrorSchema = z.object({
  type: z.string(),
  message: z.string(),
  reason: optionalKey(z.string()).describe(
    "code of the cause: file_not_found, file_is_directory, file_forbidden, file_unreadable or file_unwritable for a file of a session; checkpoint_refused, checkpoint_damaged and others for a checkpoint; exec_waiting or exec_not_waiting for a program that waits for the answer to a call",
  ),
});

/** The response to a request that failed. */
export const failureSchema = z.object({ error: requestErrorSchema }).meta({ id: "Failure" });

/** Programs to run in a request. */
export const batchRequestSchema = z.strictObject({
  items: z.array(
    execRequestSchema.extend({
      session: z.string().max(MAX_NAME_CHARACTERS).optional()
        .describe("id of a session; default: a new interpreter"),
    }).meta({ id: "BatchItem" }),
  ).max(MAX_BATCH_ITEMS),
});

/** The result of a program of a batch, or the reason why the program did not run. */
export const batchOutcomeSchema = z.object({
  status: z.int().describe("the HTTP status that the item would have had alone"),
  result: optionalKey(execResultSchema),
  error: optionalKey(requestErrorSchema),
}).meta({ id: "BatchOutcome" });

/** The results of a batch, in the order of the programs. */
export const batchResponseSchema = z.object({ results: z.array(batchOutcomeSchema) });
