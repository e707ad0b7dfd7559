/**
 * The JSON of `/v1` about sessions, programs, files and scores. The server announces these schemas in
 * `/openapi.json` and checks requests with them; the client checks responses with them. Unknown keys are errors in
 * requests and ignored in responses, so that a client can read the responses of a newer server.
 *
 * @module
 */
import { z } from "zod";
import {
  MAX_BATCH_ITEMS,
  MAX_FILES,
  MAX_MESSAGES,
  MAX_NAME_CHARACTERS,
  MAX_PATH_CHARACTERS,
  MAX_TIMEOUT_MS,
} from "./limits.ts";

/** Version of the JSON of `/v1`. It rises when older clients cannot read newer responses. */
export const V1_FORMAT = 1;
/** The response header that states {@linkcode V1_FORMAT}. */
export const V1_FORMAT_HEADER = "x-paddock-format";

/**
 * Declares that a key may be missing. A value of `undefined`, which JSON cannot have, is accepted too: the generator of
 * `/openapi.json` lists keys that refuse it as required.
 */
export function optionalKey<Schema extends z.ZodType>(schema: Schema): z.ZodExactOptional<Schema> {
  return schema.optional() as unknown as z.ZodExactOptional<Schema>;
}

const BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
const path = z.string().min(1).max(MAX_PATH_CHARACTERS);
const files = z.record(path, z.base64().meta({ pattern: BASE64 })).meta({
  propertyNames: { minLength: 1, maxLength: MAX_PATH_CHARACTERS },
});

/** A program to run. */
export const execRequestSchema = z.strictObject({
  code: z.string(),
  timeoutMs: z.number().positive().max(MAX_TIMEOUT_MS).optional()
    .describe("milliseconds until it is interrupted; default: the profile's limit"),
  stdin: z.string().optional().describe("input of input() and sys.stdin"),
  files: files.optional().describe("files written before it runs, by path, in base64"),
  fetchFiles: z.array(path).max(MAX_FILES).optional()
    .describe("files to return; those that are missing, or beyond 64 MiB together, are left out"),
}).meta({ id: "ExecRequest" });

/** An exception of the guest. */
export const guestErrorSchema = z.object({ type: z.string(), message: z.string(), traceback: z.string() });

/** The result of a program. */
export const execResultSchema = z.object({
  status: z.enum(["ok", "error", "timeout", "memory", "output", "exited", "crashed"]),
  stdout: z.string(),
  stderr: z.string(),
  value: optionalKey(z.string()).describe("repr of the last expression, unless that is None"),
  error: optionalKey(guestErrorSchema),
  exitCode: optionalKey(z.number().int())
    .describe("with exited; with crashed, if the program ended the interpreter with an exit code"),
  durationMs: z.number(),
  stateKept: z.boolean().describe(
    "false if the interpreter was lost; the next program runs in a new one",
  ),
  truncated: z.boolean(),
  denied: optionalKey(
    z.partialRecord(z.enum(["files", "network", "processes", "javascript"]), z.number().int().nonnegative()),
  ).describe("refused attempts, as the guest counted them: advice only; absent if there were none"),
  restarted: optionalKey(z.literal(true))
    .describe("this program ran in a new interpreter, since the previous one was lost"),
  files: optionalKey(z.record(z.string(), z.string())).describe("the requested files, in base64"),
}).meta({ id: "ExecResult" });

/** A piece of output: the data of the events `stdout` and `stderr`. */
export const outputEventSchema = z.object({ text: z.string() });

/** A command line to run. */
export const shellRequestSchema = z.strictObject({
  command: z.string(),
  timeoutMs: execRequestSchema.shape.timeoutMs,
  silenceMs: z.number().positive().max(MAX_TIMEOUT_MS).optional()
    .describe("milliseconds without output until it is interrupted"),
  stdin: z.string().optional().describe("input of the first command"),
}).meta({ id: "ShellRequest" });

/** The result of a command line. */
export const shellResultSchema = execResultSchema.omit({ value: true, files: true }).extend({
  status: execResultSchema.shape.status.exclude(["error"]),
  deadline: optionalKey(z.enum(["run", "silence", "cpu"])).describe("the deadline that was exceeded"),
  cwd: z.string().describe("working directory of the shell after the command"),
}).meta({ id: "ShellResult" });

/** A session. */
export const sessionInfoSchema = z.object({
  id: z.string(),
  createdAt: z.string(),
  usedAt: z.string(),
  execs: z.number().int(),
}).meta({ id: "Session" });

/** A list of sessions. */
export const sessionListSchema = z.object({ sessions: z.array(sessionInfoSchema) });

/** Options of a new session. */
export const createSessionRequestSchema = z.strictObject({
  seed: z.int().optional().describe("makes random, secrets, uuid4 and os.urandom reproducible"),
}).meta({ id: "CreateSession" });

/** Options of a session's reset. */
export const resetSessionRequestSchema = z.strictObject({
  mode: z.enum(["fresh", "rewind"]).optional()
    .describe(
      "fresh starts a new interpreter; rewind is faster, and safe only if you trust the last program",
    ),
  seed: z.int().optional(),
}).meta({ id: "ResetSession" });

/** Files to write. */
export const filesRequestSchema = z.strictObject({ files }).meta({ id: "Files" });

/** Number of files that were written. */
export const filesWrittenSchema = z.object({ written: z.int() });

/** A list of files. */
export const fileListSchema = z.object({
  files: z.array(z.object({ path: z.string(), bytes: z.number() })),
}).meta({ id: "FileList" });

/** The reason why a request failed. */
export const requestErrorSchema = z.object({
  type: z.string(),
  message: z.string(),
  reason: optionalKey(z.string())
    .describe("file_not_found, file_unreadable or file_unwritable, if a file of a session was the cause"),
});

/** The response to a request that failed. */
export const failureSchema = z.object({ error: requestErrorSchema }).meta({ id: "Failure" });

/** Programs to run in one request. */
export const batchRequestSchema = z.strictObject({
  items: z.array(
    execRequestSchema.extend({
      session: z.string().max(MAX_NAME_CHARACTERS).optional()
        .describe("id of a session; default: a new interpreter"),
    }).meta({ id: "BatchItem" }),
  ).max(MAX_BATCH_ITEMS),
});

/** The result of one program of a batch, or the reason why it did not run. */
export const batchOutcomeSchema = z.object({
  status: z.int().describe("the HTTP status that the item would have had alone"),
  result: optionalKey(execResultSchema),
  error: optionalKey(requestErrorSchema),
}).meta({ id: "BatchOutcome" });

/** The results of a batch, in the order of its programs. */
export const batchResponseSchema = z.object({ results: z.array(batchOutcomeSchema) });

/** The text that a grader compares with. A number is read as text. */
export const answerTextSchema = z.union([z.string(), z.number()], { error: "must be a text or a number" })
  .transform(String);

/** A conversation to score. */
export const gradeRequestSchema = z.strictObject({
  grader: z.string().max(MAX_NAME_CHARACTERS),
  task: z.strictObject({
    id: z.string().default("task"),
    query: z.string().default(""),
    answer: optionalKey(answerTextSchema),
    reference: optionalKey(z.string()),
    fields: optionalKey(z.record(z.string(), z.unknown())),
  }).describe("the task; fields contains input of the grader, such as a program's tests"),
  messages: z.array(
    z.strictObject({ role: z.enum(["system", "user", "assistant", "tool"]), content: z.string() }),
  ).min(1).max(MAX_MESSAGES).describe("the whole conversation"),
}).meta({ id: "GradeRequest" });

/** A score. */
export const scoreSchema = z.object({
  score: z.number().nullable().describe("null if no score can be computed, which is not 0"),
  parts: optionalKey(z.record(z.string(), z.number().nullable())),
  reason: optionalKey(z.string()).describe("reason for a missing score"),
}).meta({ id: "Score" });

/** The names of the graders. */
export const graderListSchema = z.object({ graders: z.array(z.string()) });

/** Returns files as JSON carries them: contents in base64, by path. */
export function toBase64Files(files: Readonly<Record<string, Uint8Array | string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, contents]) => [path, toBase64(contents)]));
}

/** Returns the contents of files that JSON carried. */
export function fromBase64Files(
  files: Readonly<Record<string, string>>,
): Record<string, Uint8Array<ArrayBuffer>> {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, Uint8Array.fromBase64(text)]),
  );
}

function toBase64(contents: Uint8Array | string): string {
  return (typeof contents === "string" ? new TextEncoder().encode(contents) : contents).toBase64();
}
