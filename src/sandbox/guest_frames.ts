import * as z from "zod";
import {
  checkJsonLimits,
  JSON_LIMITS,
  type JsonLimits,
  type JsonValue,
  parseUntrustedJson,
} from "../json.ts";
import { type NumberSource, parseExact, toExactInteger } from "../numbers/exact_numbers.ts";
import type { GuestError, MimeBundle } from "./contract/exec.ts";
import { decodeResult, MAX_DISPLAY_BYTES, OUTCOME_HEAD_BYTES, OUTCOME_STATUSES } from "./protocol.ts";

const text = z.string();
/** Maximum length of a class name, a message or a traceback; the runner sends less. */
const MAX_ERROR_CHARACTERS = 100_000;

/** Kinds of refused attempts. */
const DENIED_KINDS = ["files", "network", "processes", "javascript"] as const;

/** Maximum count of a kind; larger counts of the guest are lowered to this maximum. */
export const MAX_DENIED = 1_000_000;
const countsSchema = z.partialRecord(
  z.enum(DENIED_KINDS),
  z.int().nonnegative().transform((count) => Math.min(count, MAX_DENIED)),
);

/** Notes of a guest about an exec, beside the outcome. */
const noteSchema = z.strictObject({
  denied: countsSchema.optional(),
  droppedDisplays: z.int().nonnegative().optional(),
});
type GuestNote = z.output<typeof noteSchema>;

/** Maximum length of a path; longer than any path of the guest's file system. */
const MAX_PATH_CHARACTERS = 8192;

const shellOutcomeSchema = z.strictObject({
  exitCode: z.int().min(0).max(255),
  cwd: text.max(MAX_PATH_CHARACTERS).startsWith("/"),
});

/** Maximum number of forms of an object. */
const MAX_FORMS = 16;
/** MIME types of data that is base64; other data is text, or JSON where the type is a type of JSON. */
const BINARY = /^(?:(?:image|audio|video)\/(?!svg\+xml$)|application\/(?:pdf|octet-stream)$)/;
const IS_JSON = /[/+]json$/;
const mimeType = text.max(127).regex(/^[a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*$/i);
const base64 = z.base64();

const displaySchema = z.record(mimeType, z.unknown()).refine((bundle) => {
  const forms = Object.entries(bundle);
  return forms.length > 0 && forms.length <= MAX_FORMS && forms.every(([type, data]) => {
    if (IS_JSON.test(type)) return isPlain(data as JsonValue);
    if (typeof data !== "string" || !data.isWellFormed()) return false;
    return !BINARY.test(type) || base64.safeParse(data.replaceAll("\n", "")).success;
  });
}, "each form must be text, base64 or JSON, as its type says");

const callSchema = z.strictObject({
  call: z.int().nonnegative(),
  name: text.max(256),
  arguments: z.record(text, z.unknown()),
});

/** End of a block, as reported by the guest. */
type GuestOutcome =
  & { readonly denied?: GuestNote["denied"] }
  & (
    | {
      readonly status: "ok";
      readonly value?: string;
      readonly valueJson?: JsonValue;
      readonly cut: boolean;
    }
    | { readonly status: "error" | "memory" | "interrupted"; readonly error: GuestError }
    | { readonly status: "exited"; readonly exitCode: number }
  );

/** Result of a block as reported by the guest. The host ignores what the host can observe itself. */
export interface GuestResult extends GuestNote {
  readonly truncated: boolean;
  readonly flooded: boolean;
  readonly peakMemoryBytes: number;
  readonly outcome: GuestOutcome;
}

/** Result of a command line as reported by the guest. */
export interface GuestShellResult extends Omit<GuestResult, "outcome"> {
  readonly outcome: z.output<typeof shellOutcomeSchema>;
}

/** A call of a host tool, as requested by the guest. */
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

/** Maximum size of what is around a value: errors, at four bytes for each character, and heads. */
const MAX_ENVELOPE_BYTES = 2 * 1024 * 1024;
/** Maximum size of the JSON in a result beside the value; real sizes are smaller. */
const MAX_NOTE: FrameSize = { bytes: 64 * 1024, values: 64 };
/** Maximum size of a call. */
export const MAX_CALL: FrameSize = { bytes: 16 * 1024 * 1024, values: JSON_LIMITS.values };

/**
 * Parses the payload of a `result` frame that ends an exec.
 *
 * @throws {SyntaxError} if the payload is invalid, or the value is longer than the runner sends.
 */
export function parseResult(payload: Uint8Array, maxValueCharacters: number): GuestResult {
  checkSize(payload, 14 * maxValueCharacters + MAX_ENVELOPE_BYTES);
  const { note, outcome, ...head } = decodeResult(payload);
  return { ...parseNote(note), ...head, outcome: parseOutcome(outcome, maxValueCharacters) };
}

function parseNote(note: Uint8Array): GuestNote {
  return note.length === 0 ? {} : parse(noteSchema, note, MAX_NOTE);
}

/** Parses an outcome, whose form {@linkcode OUTCOME_HEAD_BYTES} describes. */
function parseOutcome(bytes: Uint8Array, maxValueCharacters: number): GuestOutcome {
  const status = OUTCOME_STATUSES[bytes[0] ?? -1];
  if (status === undefined || bytes.length < OUTCOME_HEAD_BYTES) {
    throw new SyntaxError("Cannot read result as its outcome is invalid");
  }
  const flag = bytes[1] as number;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = OUTCOME_HEAD_BYTES;
  const [first, second, third] = [2, 6, 10].map((offset) => {
    const end = at + view.getUint32(offset, true);
    if (end > bytes.length) throw new SyntaxError("Cannot read result as a text of its outcome is cut short");
    return bytes.subarray(at, at = end);
  }) as [Uint8Array, Uint8Array, Uint8Array];
  const counts = bytes.subarray(at);
  const denied = counts.length === 0 ? undefined : parse(countsSchema, counts, MAX_NOTE);
  if (status === "exited") {
    if (flag === 0) {
      throw new SyntaxError("Cannot read result as its exit code must be > 0: current value is 0");
    }
    return { ...(denied && { denied }), status, exitCode: flag };
  }
  if (status === "ok") {
    return {
      ...(denied && { denied }),
      status,
      cut: flag === 3,
      ...(flag > 1 && valueOf(first, second, maxValueCharacters)),
    };
  }
  const error = { type: errorText(first), message: errorText(second), traceback: errorText(third) };
  return { ...(denied && { denied }), status, error };
}

/** Maximum length of the JSON of a value, in characters; the runner sends less. */
const MAX_VALUE_JSON_CHARACTERS = 1024 * 1024;
/** Maximum size of the JSON of a value. The runner sends at most 100,000 values, beside which brackets are counted. */
const VALUE_JSON_LIMITS: JsonLimits = { depth: 32, values: 2 * JSON_LIMITS.values };

/** Returns the value of an outcome: the text, and what the JSON represents, if there is JSON. */
function valueOf(
  value: Uint8Array,
  json: Uint8Array,
  maxCharacters: number,
): { value: string; valueJson?: JsonValue } {
  const shown = decoder.decode(value);
  if (shown.length > 2 * maxCharacters) throw new SyntaxError("Cannot read result as its value is too long");
  if (json.length === 0) return { value: shown };
  return { value: shown, valueJson: parseValueJson(decoder.decode(json)) };
}

function errorText(bytes: Uint8Array): string {
  const shown = decoder.decode(bytes);
  if (shown.length <= MAX_ERROR_CHARACTERS) return shown;
  throw new SyntaxError(
    `Cannot read result as a text of its error must have at most ${MAX_ERROR_CHARACTERS} characters: ` +
      `current value has ${shown.length}`,
  );
}

/**
 * Parses the JSON of a value.
 *
 * @throws {SyntaxError} if the JSON is invalid, too large, or nothing that the runner sends.
 */
function parseValueJson(json: string): JsonValue {
  if (json.length > MAX_VALUE_JSON_CHARACTERS) {
    throw new SyntaxError("Cannot read result as the JSON of its value is too long");
  }
  const value = parseUntrustedJson(json, VALUE_JSON_LIMITS) as JsonValue;
  if (!isPlain(value)) {
    throw new SyntaxError(
      "Cannot read result as its value has an infinite number, an unpaired surrogate or a key '__proto__'",
    );
  }
  return value;
}

/** Returns true if JSON data has no infinite number, no unpaired surrogate and no key `__proto__`. */
function isPlain(value: JsonValue): boolean {
  const waiting = [value];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (typeof part === "number" && !Number.isFinite(part)) return false;
    if (typeof part === "string" && !part.isWellFormed()) return false;
    if (typeof part !== "object" || part === null) continue;
    const keys = Array.isArray(part) ? [] : Object.keys(part);
    if (keys.some((key) => key === "__proto__" || !key.isWellFormed())) return false;
    for (const member of Array.isArray(part) ? part : Object.values(part)) waiting.push(member);
  }
  return true;
}

/**
 * Parses the payload of a `result` frame that ends a command line.
 *
 * @throws {SyntaxError} if the payload is invalid.
 */
export function parseShellResult(payload: Uint8Array): GuestShellResult {
  const { note, outcome, ...head } = decodeResult(payload);
  return { ...parseNote(note), ...head, outcome: parse(shellOutcomeSchema, outcome, MAX_NOTE) };
}

/**
 * Parses the payload of a `call` frame.
 *
 * @throws {SyntaxError} if the payload is invalid.
 */
export function parseCall(payload: Uint8Array, max: FrameSize = MAX_CALL): GuestCall {
  return parse(callSchema, payload, max);
}

/** Returns the arguments of a call, with integers that a number cannot hold as bigints. */
export function withExactIntegers(
  args: Readonly<Record<string, unknown>>,
  payload: Uint8Array,
): Record<string, unknown> {
  if (!hasLargeInteger(args)) return args;
  const call = JSON.parse(
    decoder.decode(payload),
    (key, value, context?: NumberSource) => key === "__proto__" ? undefined : toExactInteger(value, context),
  );
  return call.arguments;
}

/**
 * Returns JSON of the arguments of a call with each number as the guest wrote the number, if a number would be written
 * differently.
 */
export function exactArgumentsText(payload: Uint8Array): string | undefined {
  const call = parseExact(decoder.decode(payload));
  return call === undefined ? undefined : JSON.stringify((call as GuestCall).arguments);
}

function hasLargeInteger(value: unknown): boolean {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasLargeInteger);
}

/** Parses the payload of a `display` frame. Returns `undefined` if a form is not what the MIME type says. */
export function parseDisplay(payload: Uint8Array): MimeBundle | undefined {
  const max = { bytes: MAX_DISPLAY_BYTES, values: JSON_LIMITS.values };
  try {
    return parse(displaySchema, payload, max) as MimeBundle;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Parses a payload after checking the size: a megabyte of brackets would become a hundred megabytes of objects. */
function parse<Schema extends z.core.$ZodType>(
  schema: Schema,
  payload: Uint8Array,
  max: FrameSize,
): z.output<Schema> {
  checkSize(payload, max.bytes);
  checkJsonLimits(payload, { values: max.values, depth: max.values });
  const value = JSON.parse(decoder.decode(payload), dropPrototypeKeys);
  const parsed = z.safeParse(schema, value);
  if (!parsed.success) throw new SyntaxError(`Cannot read frame: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function checkSize(payload: Uint8Array, maxBytes: number): void {
  if (payload.length <= maxBytes) return;
  throw new SyntaxError(
    `Cannot read frame as it must have at most ${maxBytes} bytes: current value has ${payload.length}`,
  );
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
