import * as z from "zod";
import { callEventSchema } from "../wire/v1_tools.ts";
import { fromBase64 } from "../base64.ts";
import { errorMessage } from "../errors.ts";
import { RequestError } from "./request_error.ts";
import { readBytes } from "../http/request.ts";
import { type JsonLimits, parseUntrustedJson } from "../json.ts";
import { parseWithIntegers } from "../numbers/exact_numbers.ts";
import type { ExecResult } from "../sandbox/contract/exec.ts";
import type { ShellResult } from "../sandbox/contract/shell.ts";
import {
  batchOutcomeSchema,
  execResultSchema,
  guestErrorSchema,
  type requestErrorSchema,
  shellResultSchema,
} from "../wire/v1.ts";
import { checkpointInfoSchema } from "../wire/v1_checkpoints.ts";
import { checkpointIdSchema, sessionInfoSchema } from "../wire/v1_sessions.ts";

const durationMs = execResultSchema.shape.durationMs.nonnegative();
const files = z.record(z.string(), z.base64().transform((text) => fromBase64(text)))
  .exactOptional();

const execOutcome = execResultSchema.omit({
  value: true,
  valueJson: true,
  error: true,
  exitCode: true,
  call: true,
})
  .extend({
    durationMs,
    files,
  });
const shellOutcome = shellResultSchema.omit({ error: true, exitCode: true, deadline: true }).extend({
  durationMs,
});

/** Result of a program, with exactly the fields of its status. */
export const execResponse: z.core.$ZodType<ExecResult> = z.discriminatedUnion("status", [
  execOutcome.extend({
    status: z.literal("ok"),
    value: execResultSchema.shape.value,
    valueJson: execResultSchema.shape.valueJson,
  }),
  execOutcome.extend({ status: z.literal("exited"), exitCode: z.int() }),
  execOutcome.extend({
    status: execResultSchema.shape.status.exclude(["ok", "exited", "crashed", "waiting", "diverged"]),
    error: guestErrorSchema,
  }),
  execOutcome.extend({
    status: z.literal("crashed"),
    error: guestErrorSchema,
    exitCode: execResultSchema.shape.exitCode,
  }),
  execOutcome.extend({ status: z.literal("waiting"), call: callEventSchema }),
  execOutcome.extend({ status: z.literal("diverged"), call: callEventSchema, error: guestErrorSchema }),
]);

/** Result of a shell command, with exactly the fields of its status. */
export const shellResponse: z.core.$ZodType<ShellResult> = z.discriminatedUnion("status", [
  shellOutcome.extend({ status: z.literal("ok"), exitCode: z.literal(0) }),
  shellOutcome.extend({ status: z.literal("exited"), exitCode: z.int() }),
  shellOutcome.extend({
    status: z.literal("timeout"),
    deadline: shellResultSchema.shape.deadline.unwrap(),
    error: guestErrorSchema,
  }),
  shellOutcome.extend({
    status: shellResultSchema.shape.status.exclude(["ok", "exited", "timeout"]),
    error: guestErrorSchema,
  }),
]);

const sessionIdSchema = sessionInfoSchema.pick({ id: true }).extend({
  id: sessionInfoSchema.shape.id.min(1).max(64),
});

/** Id of a new session. */
export const sessionResponse: z.core.$ZodType<{ id: string }> = sessionIdSchema;

/** Ids of the copies of a session. */
export const forkResponse: z.core.$ZodType<{ sessions: { id: string }[] }> = z.object({
  sessions: z.array(sessionIdSchema).min(1),
});

/** A checkpoint that the server keeps. Its id is a part of paths. */
export const checkpointResponse: z.core.$ZodType<z.output<typeof checkpointInfoSchema>> = checkpointInfoSchema
  .extend({ id: checkpointIdSchema });

/** Checkpoints that the server keeps. */
export const checkpointListResponse: z.core.$ZodType<
  { checkpoints: z.output<typeof checkpointInfoSchema>[] }
> = z.object({ checkpoints: z.array(checkpointResponse) });

/** Results of a batch. */
export const batchResponse: z.core.$ZodType<
  { results: { status: number; result?: ExecResult; error?: z.output<typeof requestErrorSchema> }[] }
> = z.object({
  results: z.array(batchOutcomeSchema.extend({ result: z.exactOptional(execResponse) })),
});

/** Response without a body. */
export const emptyResponse: z.core.$ZodType<undefined> = z.undefined();

/** Body of a response, in chunks. */
export type BodyChunks = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** Maximum size of a response, or of one event, in bytes. It carries the output and the files of programs. */
export const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
/** A batch has up to a million values of programs, beside which brackets are counted. */
const RESPONSE_LIMITS: JsonLimits = { depth: 64, values: 2_500_000 };
const SHOWN_CHARACTERS = 200;

/** Schemas of responses with calls of tools, whose arguments have all digits of their integers. */
const WITH_CALLS: ReadonlySet<unknown> = new Set([execResponse, sessionInfoSchema, callEventSchema]);

function parseValue(text: string, hasCalls: boolean): unknown {
  const value = parseUntrustedJson(text, RESPONSE_LIMITS);
  if (!hasCalls) return value;
  const exact = Object(parseWithIntegers(text));
  const call = exact.call ?? exact.waiting ?? exact;
  const rounded = Object(value).call ?? Object(value).waiting ?? value;
  if (typeof rounded === "object" && rounded !== null && "arguments" in rounded) {
    rounded.arguments = call.arguments;
  }
  return value;
}

/**
 * Reads the whole body of a response.
 *
 * @throws {RequestError} if it has more than 256 MiB.
 */
export async function readBody(action: string, body: BodyChunks): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readBytes(body, MAX_RESPONSE_BYTES);
  if (bytes !== null) return bytes;
  throw new RequestError(
    `Cannot ${action} as the response must have at most ${MAX_RESPONSE_BYTES} bytes: found more`,
    { code: "bad_response" },
  );
}

/**
 * Reads a JSON response and validates it.
 *
 * @throws {RequestError} if it does not match the schema.
 */
export async function readResponse<T>(
  action: string,
  body: BodyChunks,
  schema: z.core.$ZodType<T>,
): Promise<T> {
  return parseResponse(action, new TextDecoder().decode(await readBody(action, body)), schema);
}

/**
 * Parses a JSON text and validates it. An empty text is `undefined`.
 *
 * @throws {RequestError} if it does not match the schema.
 */
export function parseResponse<T>(action: string, text: string, schema: z.core.$ZodType<T>): T {
  try {
    return z.parse(schema, text === "" ? undefined : parseValue(text, WITH_CALLS.has(schema)));
  } catch (cause) {
    const reason = errorMessage(cause).slice(0, 2 * SHOWN_CHARACTERS);
    const shown = reason.replace(/\s+/g, " ").slice(0, SHOWN_CHARACTERS);
    throw new RequestError(`Cannot ${action} as the server's response does not match /v1: ${shown}`, {
      code: "bad_response",
      cause,
    });
  }
}
