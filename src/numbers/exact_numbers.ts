import { isJsonObject } from "../json.ts";

/**
 * Numbers of JSON that JavaScript cannot hold or would write differently. They are kept as `JSON.rawJSON`, which
 * `JSON.stringify` writes as the text had them.
 *
 * @module
 */

/** Third argument of a `JSON.parse` reviver in newer engines. TypeScript does not declare it yet. */
export interface NumberSource {
  readonly source?: string;
}

const { rawJSON: rawJson, isRawJSON: isRawJson } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** Returns a number that `JSON.stringify` writes as the text, or else, if that is no JSON, as its value. */
export function rawNumber(text: string): unknown {
  try {
    return rawJson(text);
  } catch {
    return Number(text);
  }
}

/** Returns the text of a number made by {@linkcode rawNumber} or {@linkcode parseExact}; `undefined` for other values. */
export function rawNumberText(value: unknown): string | undefined {
  return isRawJson(value) ? (value as { rawJSON: string }).rawJSON : undefined;
}

/** Maximum number of digits of an integer that becomes a bigint: the limit of Python's own conversions. */
export const MAX_DIGITS = 4_300;

/** What a text has if one of its numbers may be an integer that a number cannot hold, or no double. */
const MAYBE_LARGE = /\d{16}|\d[eE]\+?\d{3}/;

/**
 * Parses JSON of values that Python wrote. An integer that a number cannot hold becomes a bigint.
 *
 * @throws {SyntaxError} if the text is not JSON, or has a number that no double and no bigint holds.
 */
export function parseWithIntegers(json: string): unknown {
  return MAYBE_LARGE.test(json) ? JSON.parse(json, keepInteger) : JSON.parse(json);
}

function keepInteger(_key: string, value: unknown, context?: NumberSource): unknown {
  const exact = toExactInteger(value, context);
  if (typeof exact !== "number" || Number.isFinite(exact)) return exact;
  throw new SyntaxError(
    `a number must be within the range of doubles, or an integer of at most ${MAX_DIGITS} digits`,
  );
}

/** Returns the number of a JSON text as a bigint if it is an integer that a number cannot hold; else the value. */
export function toExactInteger(value: unknown, context?: NumberSource): unknown {
  const source = context?.source ?? "";
  if (typeof value !== "number" || Number.isSafeInteger(value) || source.length > MAX_DIGITS) return value;
  if (!/^-?\d+$/.test(source)) return value;
  const exact = BigInt(source);
  return Math.abs(value) < LEAST_EXPONENT && BigInt(value) === exact ? value : exact;
}

/** Least number that `JSON.stringify` writes with an exponent, as Python writes a float. */
const LEAST_EXPONENT = 1e21;

/** True for an integer of a number that `JSON.stringify` writes with other digits: 2^64 ends with 2000 there. */
export function isLargeInteger(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) &&
    Math.abs(value) < LEAST_EXPONENT && String(BigInt(value)) !== String(value);
}

/**
 * Returns data in which each large integer is a number that `JSON.stringify` writes with all of its digits.
 *
 * @throws {TypeError} if there is one and the engine cannot write it: `JSON.rawJSON` is missing.
 */
export function withRawIntegers(data: unknown): unknown {
  if (typeof data === "bigint" || isLargeInteger(data)) return rawJson(String(BigInt(data)));
  if (typeof data !== "object" || data === null || isRawJson(data) || "toJSON" in data) return data;
  if (Array.isArray(data)) return data.map(withRawIntegers);
  return Object.fromEntries(Object.entries(data).map(([key, member]) => [key, withRawIntegers(member)]));
}

/** Replacer of `JSON.stringify` that writes large integers with all of their digits, as {@linkcode withRawIntegers} does. */
export function writeIntegers(_key: string, value: unknown): unknown {
  return typeof value === "bigint" || isLargeInteger(value) ? rawJson(String(BigInt(value))) : value;
}

/** Returns data as a row has them: each large integer is a text of its digits, as readers of rows could not hold it. */
export function toRowIntegers(data: unknown): unknown {
  if (typeof data === "bigint" || isLargeInteger(data)) return String(BigInt(data));
  if (typeof data !== "object" || data === null) return data;
  if (Array.isArray(data)) return data.map(toRowIntegers);
  return Object.fromEntries(Object.entries(data).map(([key, member]) => [key, toRowIntegers(member)]));
}

/** What a text has if JavaScript would write one of its numbers differently: `50.0`, `1e2`, 16 or more digits. */
export const ODD_NUMBER = /\d\.\d*0(?!\d)|\d[eE]|\d{16}/;

/**
 * Parses JSON so that `JSON.stringify` writes each number as the text has it. Returns `undefined` when no number would
 * change, or when the text is not strict JSON.
 */
export function parseExact(json: string): unknown {
  if (!ODD_NUMBER.test(json)) return undefined;
  try {
    return JSON.parse(json, keepNumber);
  } catch {
    return undefined; // `NaN` and similar values, which other programs accept as JSON
  }
}

/** Returns the text of a JSON object, trimmed, or `undefined` when parsing it loses nothing. */
export function exactText(json: string): string | undefined {
  const value = parseExact(json);
  return isJsonObject(value) ? json.trim() : undefined;
}

function keepNumber(_key: string, value: unknown, context?: NumberSource): unknown {
  return typeof value === "number" && context?.source !== undefined ? rawJson(context.source) : value;
}
