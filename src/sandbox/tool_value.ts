/**
 * Results of host tools on their way to Python: JSON, beside which the paths are sent of texts that are data in base64.
 *
 * @module
 */

import { fromBase64, toBase64 } from "../base64.ts";
import { isLargeInteger, rawNumber } from "../numbers/exact_numbers.ts";

/** Data with a MIME type, such as an image. Python gets it as `paddock.Media`, which `display()` shows. */
export class ToolMedia {
  /** The data in base64. */
  readonly data: string;
  readonly mimeType: string;

  constructor(data: string, mimeType: string) {
    this.data = data;
    this.mimeType = mimeType;
  }
}

/** Place of data in a result: the keys that lead to its base64, and its MIME type; `null` for plain bytes. */
export type MediaPlace = readonly [path: readonly (string | number)[], mimeType: string | null];

/** A result as it is sent to Python. A tool may return it in place of its value, when it has it already. */
export class EncodedToolValue {
  readonly json: string;
  readonly media: readonly MediaPlace[];

  constructor(json: string, media: readonly MediaPlace[] = []) {
    this.json = json;
    this.media = media;
  }
}

/** Maximum length of the JSON of a result, so that it fits into a frame whatever its characters are. */
const MAX_RESULT_CHARACTERS = 16 * 1024 * 1024;

function tooLong(length: number, unit: string): string {
  return `the result must have at most ${MAX_RESULT_CHARACTERS} characters: it has ${length} ${unit}`;
}

/** Maximum nesting in which data is found. */
const MAX_DEPTH = 100;

/**
 * Encodes the result of a tool. A `Uint8Array` becomes bytes in Python, a {@linkcode ToolMedia} an image or other data, and
 * a bigint an integer with all of its digits. What JSON does not have is left out, as by `JSON.stringify`.
 *
 * @throws {TypeError} if the value is circular.
 * @throws {RangeError} if it is too long.
 */
export function encodeToolValue(value: unknown): EncodedToolValue {
  if (value instanceof EncodedToolValue) return value;
  const media: MediaPlace[] = [];
  const json = JSON.stringify(toPlain(value, media, undefined)) ?? "null";
  if (json.length > MAX_RESULT_CHARACTERS) throw new RangeError(tooLong(json.length, "characters"));
  return new EncodedToolValue(json, media);
}

/** Decodes a result, so that {@linkcode encodeToolValue} makes the same of it. `value` is its JSON, parsed. */
export function withMedia(value: unknown, media: readonly MediaPlace[]): unknown {
  const root = { value };
  for (const [path, mimeType] of media) {
    const keys = ["value", ...path];
    const last = keys.pop() ?? "value";
    const holder = keys.reduce<unknown>(memberOf, root);
    const data = memberOf(holder, last);
    if (typeof data !== "string") continue;
    Object(holder)[last] = mimeType === null ? fromBase64(data) : new ToolMedia(data, mimeType);
  }
  return root.value;
}

function memberOf(holder: unknown, key: string | number): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, key)
    ? (holder as Record<string | number, unknown>)[key]
    : undefined;
}

/** A key with those before it. */
interface Keys {
  readonly key: string | number;
  readonly before: Keys | undefined;
  readonly depth: number;
}

/** Returns a value as plain JSON, and adds the places of its data to `media`. A value without data is returned as it is. */
function toPlain(value: unknown, media: MediaPlace[], keys: Keys | undefined): unknown {
  if (typeof value === "bigint" || isLargeInteger(value)) return rawNumber(String(BigInt(value)));
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) {
    if (value.length > MAX_RESULT_CHARACTERS) throw new RangeError(tooLong(value.length, "bytes"));
    media.push([pathOf(keys), null]);
    return toBase64(value);
  }
  if (value instanceof ToolMedia) {
    media.push([pathOf(keys), value.mimeType]);
    return value.data;
  }
  if ("toJSON" in value || (keys?.depth ?? 0) >= MAX_DEPTH) return value;
  const inner = (key: string | number, member: unknown) =>
    toPlain(member, media, { key, before: keys, depth: (keys?.depth ?? 0) + 1 });
  let changed: Record<string | number, unknown> | undefined;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== "object" && typeof member !== "bigint" && !isLargeInteger(member)) continue;
    const plain = inner(Array.isArray(value) ? Number(name) : name, member);
    if (plain === member) continue;
    changed ??= Object.assign(Array.isArray(value) ? [] : {}, value) as Record<string | number, unknown>;
    changed[name] = plain;
  }
  return changed ?? value;
}

function pathOf(keys: Keys | undefined): (string | number)[] {
  const path = [];
  for (let at = keys; at !== undefined; at = at.before) path.unshift(at.key);
  return path;
}
