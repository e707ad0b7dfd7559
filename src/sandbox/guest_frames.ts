import { z } from "zod";
import { checkJsonLimits, JSON_LIMITS } from "../json.ts";

const text = z.string();
/** Maximum length of a class name, a message or a traceback; the runner sends less. */
const MAX_ERROR_CHARACTERS = 100_000;
const errorText = text.max(MAX_ERROR_CHARACTERS);
const errorSchema = z.strictObject({ type: errorText, message: errorText, traceback: errorText });

/** Kinds of refused attempts. */
const DENIED_KINDS = ["files", "network", "processes", "javascript"] as const;

/** Larger counts of the guest say no more. */
const MAX_DENIED = 1_000_000;
const deniedSchema = z.partialRecord(
  z.enum(DENIED_KINDS),
  z.int().nonnegative().transform((count) => Math.min(count, MAX_DENIED)),
).optional();

const outcomeSchema = z.discriminatedUnion("status", [
  z.strictObject({
    status: z.literal("ok"),
    value: text.optional(),
    cut: z.boolean().optional(),
    denied: deniedSchema,
  }),
  z.strictObject({
    status: z.enum(["error", "memory", "interrupted"]),
    error: errorSchema,
    denied: deniedSchema,
  }),
  z.strictObject({ status: z.literal("exited"), exitCode: z.int().min(1).max(255), denied: deniedSchema }),
]);

const resultSchema = z.strictObject({
  truncated: z.boolean(),
  flooded: z.boolean(),
  denied: deniedSchema,
  outcome: outcomeSchema,
});

/** Maximum length of a path; longer than any path of the guest's file system. */
const MAX_PATH_CHARACTERS = 8192;

const shellResultSchema = z.strictObject({
  truncated: z.boolean(),
  flooded: z.boolean(),
  denied: deniedSchema,
  outcome: z.strictObject({
    exitCode: z.int().min(0).max(255),
    cwd: text.max(MAX_PATH_CHARACTERS).startsWith("/"),
  }),
});

const callSchema = z.strictObject({
  call: z.int().nonnegative(),
  name: text.max(256),
  arguments: z.record(text, z.unknown()),
});

/** Result of a block as the guest reports it. The host ignores what it can observe itself. */
export type GuestResult = z.output<typeof resultSchema>;

/** Result of a command line as the guest reports it. */
export type GuestShellResult = z.output<typeof shellResultSchema>;

/** A call of a host tool, as the guest requests it. */
export type GuestCall = z.output<typeof callSchema>;

const decoder = new TextDecoder();

/** Maximum size of a frame's payload. */
interface FrameSize {
  readonly bytes: number;
  /**
   * Number of JSON values: lists, objects and their contents. Each takes a hundred bytes and some time to parse.
   */
  readonly values: number;
}

/** Maximum size of errors and keys around a value, at six bytes for each character. */
const MAX_ENVELOPE_BYTES = 2 * 1024 * 1024;
/** Maximum number of JSON values in the result of an exec or a command line; real ones have fewer. */
const MAX_RESULT_VALUES = 64;
/** Maximum size of a call. */
export const MAX_CALL: FrameSize = { bytes: 16 * 1024 * 1024, values: JSON_LIMITS.values };

/**
 * Parses the payload of a `result` frame.
 *
 * @throws {SyntaxError} if it is invalid, or its value is longer than the runner sends.
 */
export function parseResult(payload: Uint8Array, maxValueCharacters: number): GuestResult {
  const bytes = 12 * maxValueCharacters + MAX_ENVELOPE_BYTES;
  const result = parse(resultSchema, payload, { bytes, values: MAX_RESULT_VALUES });
  const { outcome } = result;
  if (outcome.status !== "ok" || (outcome.value?.length ?? 0) <= 2 * maxValueCharacters) return result;
  throw new SyntaxError("Cannot read result as its value is too long");
}

/**
 * Parses the payload of a `result` frame that ends a command line.
 *
 * @throws {SyntaxError} if it is invalid.
 */
export function parseShellResult(payload: Uint8Array): GuestShellResult {
  return parse(shellResultSchema, payload, { bytes: MAX_ENVELOPE_BYTES, values: MAX_RESULT_VALUES });
}

/**
 * Parses the payload of a `call` frame.
 *
 * @throws {SyntaxError} if it is invalid.
 */
export function parseCall(payload: Uint8Array, max: FrameSize = MAX_CALL): GuestCall {
  return parse(callSchema, payload, max);
}

/** Parses a payload after checking its size: a megabyte of brackets would become a hundred megabytes of objects. */
function parse<Schema extends z.ZodType>(
  schema: Schema,
  payload: Uint8Array,
  max: FrameSize,
): z.output<Schema> {
  if (payload.length > max.bytes) {
    throw new SyntaxError(
      `Cannot read frame as it must have at most ${max.bytes} bytes: current value has ${payload.length}`,
    );
  }
  checkJsonLimits(payload, { values: max.values, depth: max.values });
  const value = JSON.parse(decoder.decode(payload), dropPrototypeKeys);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new SyntaxError(`Cannot read frame: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function dropPrototypeKeys(this: unknown, key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

/** Returns true if arrays and objects are nested more than `limit` levels deep. */
export function isDeeperThan(limit: number, value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth <= limit; depth++) {
    level = level.flatMap((part) => typeof part === "object" && part !== null ? Object.values(part) : []);
    if (level.length === 0) return false;
  }
  return true;
}
