import { losesDigits } from "./decimal.ts";
import { checkJsonLimits, JSON_LIMITS, type JsonLimits } from "../json.ts";
import { type NumberSource, rawNumber, rawNumberText } from "./exact_numbers.ts";

/**
 * A number that JavaScript may read as another one: an integer of 16 digits or more, an exponent of three digits, one
 * beyond the range of doubles, or an answer with many digits. A match can also stand within a string.
 */
const LARGE_NUMBER =
  /(?:^|[\s:,[])-?(?:\d{16,}(?![\d.eE])|\d{309}|\d[\d.]*[eE]\+?\d{3})|"answer"\s*:\s*-?[\d.eE+-]{6}/;

/** What every match of {@linkcode LARGE_NUMBER} but an answer has. The search takes a twentieth of the time. */
const MANY_DIGITS = /\d{16}|[\d.][eE]\+?\d{3}/;

function mayHaveLargeNumber(text: string): boolean {
  return (MANY_DIGITS.test(text) || text.includes('"answer"')) && LARGE_NUMBER.test(text);
}

/**
 * Parses JSON of data sets and tasks, whose numbers a grader compares. A number that JavaScript cannot hold becomes a
 * string with the digits of the file:
 *
 * - an integer that is no safe integer (beyond 2^53 - 1), as 64-bit integers of Parquet do,
 * - a number that is too large, such as `1e400`,
 * - a fraction with more digits than a double has, if its key is `answer`. Other fractions are rounded, as every
 *   reader of JSON does.
 *
 * The arguments of a message's tool calls become their JSON text if they have such a number, since a call has text as
 * arguments in the common chat format.
 *
 * @throws {SyntaxError} if the text is not JSON.
 */
export function parseDataJson(text: string): unknown {
  return mayHaveLargeNumber(text) ? toData(JSON.parse(text, keepLargeNumber)) : JSON.parse(text);
}

/**
 * Parses with {@linkcode parseDataJson} after {@linkcode checkJsonLimits}.
 *
 * @throws {JsonLimitError} if the text exceeds a limit.
 * @throws {SyntaxError} if it is not JSON.
 */
export function parseUntrustedDataJson(text: string, limits: JsonLimits = JSON_LIMITS): unknown {
  checkJsonLimits(text, limits);
  return parseDataJson(text);
}

/** Returns a JSON text that `JSON.parse` reads as {@linkcode parseDataJson} reads `text`; a text that is not JSON stays. */
export function toDataJson(text: string): string {
  if (!mayHaveLargeNumber(text)) return text;
  try {
    return JSON.stringify(parseDataJson(text));
  } catch {
    return text; // the reader of the text reports the fault
  }
}

function keepLargeNumber(key: string, value: unknown, context?: NumberSource): unknown {
  const { source } = context ?? {};
  if (typeof value !== "number" || source === undefined) return value;
  const isLarge = /^-?\d+$/.test(source)
    ? !Number.isSafeInteger(value)
    : !Number.isFinite(value) || key === "answer" && losesDigits(source);
  return isLarge ? rawNumber(source) : value;
}

/** Replaces the large numbers of a parsed value, in place. */
function toData(value: unknown): unknown {
  const digits = rawNumberText(value);
  if (digits !== undefined) return digits;
  if (typeof value !== "object" || value === null) return value;
  if ("role" in value && "tool_calls" in value && Array.isArray(value.tool_calls)) {
    value.tool_calls.forEach(keepArguments);
  }
  for (const [key, member] of Object.entries(value)) {
    if (typeof member === "object") setOwn(value, key, toData(member));
  }
  return value;
}

/** Writes the arguments of a call as text if they have a large number. */
function keepArguments(call: unknown): void {
  const named = Object(Object(call).function ?? call);
  if (hasLargeNumber(named.arguments)) setOwn(named, "arguments", JSON.stringify(named.arguments));
}

function hasLargeNumber(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return rawNumberText(value) !== undefined || Object.values(value).some(hasLargeNumber);
}

/** Sets an own property; the assignment of a key `__proto__` would set the prototype. */
function setOwn(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
}
