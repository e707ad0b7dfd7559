/**
 * The JSON of `/v1` about programs and files. The server announces these schemas in
 * `/openapi.json` and checks requests with them; the client checks responses with them. Unknown keys are errors in
 * requests and ignored in responses, so that a client can read the responses of a newer server.
 *
 * @module
 */
import * as z from "zod";
import { fromBase64, toBase64 } from "../base64.ts";
import { ArgumentTypeError } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import {
  BINARY_TYPES,
  type BinaryInput,
  type BinaryType,
  fromBinaryInput,
  MAX_INPUT_NAME_CHARACTERS,
  MAX_INPUTS,
  toBinaryInput,
} from "../sandbox/exec_inputs.ts";
import {
  MAX_BATCH_ITEMS,
  MAX_FILES,
  MAX_NAME_CHARACTERS,
  MAX_PATH_CHARACTERS,
  MAX_TIMEOUT_MS,
} from "./limits.ts";
import { optionalKey } from "./schema.ts";
import { callAnswerShape, callEventSchema, givesOneOf } from "./v1_tools.ts";

/** Version of the JSON of `/v1`. It rises when older clients cannot read newer responses. */
export const V1_FORMAT = 1;
/** The response header that states {@linkcode V1_FORMAT}. */
export const V1_FORMAT_HEADER = "x-paddock-format";

/** Pattern of base64, which the generator of `/openapi.json` does not know. */
export const BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
const path = z.string().min(1).max(MAX_PATH_CHARACTERS);
/** Contents of files in base64, by path. */
export const filesSchema = z.record(path, z.base64().meta({ pattern: BASE64 })).meta({
  propertyNames: { minLength: 1, maxLength: MAX_PATH_CHARACTERS },
});

const BINARY_TYPE_NAMES = Object.keys(BINARY_TYPES) as BinaryType[];
const inputName = z.string().min(1).max(MAX_INPUT_NAME_CHARACTERS);
/** Limits of inputs, which the sandbox checks. */
const INPUT_NAMES = {
  maxProperties: MAX_INPUTS,
  propertyNames: { minLength: 1, maxLength: MAX_INPUT_NAME_CHARACTERS },
};

/** Values that are set as globals before a program runs: plain JSON, and bytes and arrays in base64. */
export const inputsSchema = z.object({
  inputs: z.record(inputName, z.unknown()).meta(INPUT_NAMES).optional()
    .describe("values of JSON by name, a Python identifier; they are globals of the program"),
  binaryInputs: z.record(
    inputName,
    z.strictObject({ type: z.enum(BINARY_TYPE_NAMES), base64: z.base64().meta({ pattern: BASE64 }) }),
  ).meta(INPUT_NAMES).optional().describe(
    "further globals: bytes becomes bytes, the other types an array.array of little-endian elements",
  ),
});

/** A program to run. */
export const execRequestSchema = z.strictObject({
  code: z.string(),
  timeoutMs: z.number().positive().max(MAX_TIMEOUT_MS).optional()
    .describe("milliseconds until it is interrupted; default: the profile's limit"),
  stdin: z.string().optional().describe("input of input() and sys.stdin"),
  ...inputsSchema.shape,
  files: filesSchema.optional().describe("files written before it runs, by path, in base64"),
  fetchFiles: z.array(path).max(MAX_FILES).optional()
    .describe("files to return; those that are missing, or beyond 64 MiB together, are left out"),
});

/** A program to run in a session that clients find by its id. */
export const sessionExecRequestSchema = execRequestSchema.extend({
  suspendAt: z.literal("tool").optional().describe(
    "tool ends the request with the status waiting at each call of one of the session's tools, to be answered at " +
      "/v1/sessions/{id}/resume; default: calls reach the client of a stream",
  ),
}).meta({ id: "ExecRequest" });

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
export const shellRequestSchema = z.strictObject({
  command: z.string(),
  timeoutMs: execRequestSchema.shape.timeoutMs,
  silenceMs: z.number().positive().max(MAX_TIMEOUT_MS).optional()
    .describe("milliseconds without output until it is interrupted"),
  stdin: z.string().optional().describe("input of the first command"),
}).meta({ id: "ShellRequest" });

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

/** Returns files as JSON carries them: contents in base64, by path. */
export function toBase64Files(files: Readonly<Record<string, Uint8Array | string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).map(([path, contents]) => [path, toBase64(toBytes(contents))]),
  );
}

/** Returns the contents of files that JSON carried. */
export function fromBase64Files(
  files: Readonly<Record<string, string>>,
): Record<string, Uint8Array<ArrayBuffer>> {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, fromBase64(text)]),
  );
}

/** Returns inputs of a program as JSON carries them. */
export function toWireInputs(inputs: Readonly<Record<string, unknown>> = {}): z.input<typeof inputsSchema> {
  const plain: [string, unknown][] = [];
  const binary: [string, { type: BinaryType; base64: string }][] = [];
  for (const [name, value] of Object.entries(inputs)) {
    const { type, contents } = toBinaryInput(value) ?? {};
    if (type && contents) binary.push([name, { type, base64: toBase64(contents) }]);
    else plain.push([name, value]);
  }
  return {
    ...(plain.length > 0 && { inputs: Object.fromEntries(plain) }),
    ...(binary.length > 0 && { binaryInputs: Object.fromEntries(binary) }),
  };
}

/**
 * Returns the inputs of a program that JSON carried.
 *
 * @throws {ArgumentTypeError} if two inputs have one name.
 * @throws {ArgumentRangeError} if an array has part of an element.
 */
export function fromWireInputs(
  { inputs = {}, binaryInputs = {} }: z.output<typeof inputsSchema>,
): Record<string, unknown> {
  const twice = Object.keys(binaryInputs).find((name) => Object.hasOwn(inputs, name));
  if (twice !== undefined) {
    throw new ArgumentTypeError(
      `Cannot exec as the names of inputs must be unique: '${twice}' is in 'inputs' and in 'binaryInputs'`,
    );
  }
  const binary = Object.entries(binaryInputs).map(([name, { type, base64 }]): [string, unknown] => {
    const input: BinaryInput = { type, contents: fromBase64(base64) };
    return [name, fromBinaryInput(name, input)];
  });
  return Object.fromEntries([...Object.entries(inputs), ...binary]);
}

function toBytes(contents: Uint8Array | string): Uint8Array {
  return typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
}
