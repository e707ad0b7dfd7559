import { z } from "zod";

const text = z.string();
/** More than the runner lets through of a class name, a message or a traceback. */
const MAX_ERROR_CHARACTERS = 100_000;
const errorText = text.max(MAX_ERROR_CHARACTERS);
const errorSchema = z.strictObject({ type: errorText, message: errorText, traceback: errorText });

const outcomeSchema = z.discriminatedUnion("status", [
  z.strictObject({ status: z.literal("ok"), value: text.optional(), cut: z.boolean().optional() }),
  z.strictObject({ status: z.enum(["error", "memory", "interrupted"]), error: errorSchema }),
  z.strictObject({ status: z.literal("exited"), exitCode: z.int().min(1).max(255) }),
]);

const resultSchema = z.strictObject({
  truncated: z.boolean(),
  flooded: z.boolean(),
  outcome: outcomeSchema,
});

/** Longer than any path that the guest's file system has. */
const MAX_PATH_CHARACTERS = 8192;

const shellResultSchema = z.strictObject({
  truncated: z.boolean(),
  flooded: z.boolean(),
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

/** What the guest says became of a block. The host believes none of it that it can see for itself. */
export type GuestResult = z.output<typeof resultSchema>;

/** What the guest says became of a command line. */
export type GuestShellResult = z.output<typeof shellResultSchema>;

/** A call of a host tool, as the guest asks for it. */
export type GuestCall = z.output<typeof callSchema>;

const decoder = new TextDecoder();

/** How much a frame may hold. */
interface FrameSize {
  readonly bytes: number;
  /** Lists, objects and what is in them: parsed, each takes a hundred bytes and some time of the host's. */
  readonly values: number;
}

/** More than all errors and words around a value take, at six bytes for each character. */
const MAX_WORDS_BYTES = 2 * 1024 * 1024;
/** More than the result of any exec or command line has. */
const MAX_RESULT_VALUES = 64;
/** The most that a call may hold. */
export const MAX_CALL: FrameSize = { bytes: 16 * 1024 * 1024, values: 1_100_000 };

/**
 * Reads the payload of a `result` frame.
 *
 * @throws {SyntaxError} when it is anything else, or its value is longer than the runner lets through.
 */
export function parseResult(payload: Uint8Array, maxValueCharacters: number): GuestResult {
  const bytes = 12 * maxValueCharacters + MAX_WORDS_BYTES;
  const result = parse(resultSchema, payload, { bytes, values: MAX_RESULT_VALUES });
  const { outcome } = result;
  if (outcome.status !== "ok" || (outcome.value?.length ?? 0) <= 2 * maxValueCharacters) return result;
  throw new SyntaxError("Cannot read result as its value is too long");
}

/**
 * Reads the payload of a `result` frame that ends a command line.
 *
 * @throws {SyntaxError} when it is anything else.
 */
export function parseShellResult(payload: Uint8Array): GuestShellResult {
  return parse(shellResultSchema, payload, { bytes: MAX_WORDS_BYTES, values: MAX_RESULT_VALUES });
}

/**
 * Reads the payload of a `call` frame.
 *
 * @throws {SyntaxError} when it is anything else.
 */
export function parseCall(payload: Uint8Array, max: FrameSize = MAX_CALL): GuestCall {
  return parse(callSchema, payload, max);
}

/** Nothing is parsed that is larger than it may be: a megabyte of brackets becomes a hundred of objects. */
function parse<Schema extends z.ZodType>(
  schema: Schema,
  payload: Uint8Array,
  max: FrameSize,
): z.output<Schema> {
  requireAtMost(max.bytes, payload.length, "bytes");
  requireAtMost(max.values, countValues(payload), "values");
  const value = JSON.parse(decoder.decode(payload), dropPrototypeKeys);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new SyntaxError(`Cannot read frame: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function requireAtMost(most: number, count: number, what: string): void {
  if (count <= most) return;
  throw new SyntaxError(`Cannot read frame as it must have at most ${most} ${what}: it has ${count}`);
}

function dropPrototypeKeys(this: unknown, key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

/** Whether arrays and objects stand in one another more than `limit` times. */
export function deeperThan(limit: number, value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth <= limit; depth++) {
    level = level.flatMap((part) => typeof part === "object" && part !== null ? Object.values(part) : []);
    if (level.length === 0) return false;
  }
  return true;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [COMMA, OPEN_LIST, OPEN_OBJECT] = [0x2c, 0x5b, 0x7b];

/** At least as many values as there are in a text of JSON, without reading it: its commas and opening brackets. */
export function countValues(json: Uint8Array): number {
  let count = 1;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) { if (byte === BACKSLASH) at++; }
    else if (byte === COMMA || byte === OPEN_LIST || byte === OPEN_OBJECT) count++;
  }
  return count;
}
