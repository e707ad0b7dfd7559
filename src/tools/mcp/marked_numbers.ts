/**
 * Numbers of tool results that JavaScript cannot hold or would write differently: `NaN`, `1.0`, integers beyond 2^53.
 * While a message is passed on, such a number is a string that begins with a mark; the text that a model reads has the
 * server's form of the number.
 *
 * @module
 */

import { type NumberSource, ODD_NUMBER } from "../../numbers/exact_numbers.ts";

const MARK = "\0";
const STRING_OR_NON_FINITE = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\bInfinity\b|\bNaN\b/gs;
const MARKED = /"\\u0000(NaN|-?Infinity|-?\d[\d.eE+-]*)"/g;

/** Returns JSON in which the numbers `NaN`, `Infinity` and `-Infinity`, which Python's `json` writes, are marked. */
export function markNonFinite(json: string): string {
  return json.replace(STRING_OR_NON_FINITE, (token) => token.startsWith('"') ? token : `"\\u0000${token}"`);
}

/** Returns a message with marked numbers in `structuredContent`. `json` is the text of the message. */
export function markInexactNumbers(message: unknown, json: string): unknown {
  if (!ODD_NUMBER.test(json)) return message;
  const content = Object(Object(message).result).structuredContent;
  if (typeof content !== "object" || content === null) return message;
  const exact = JSON.parse(json, markNumber);
  Object(message).result.structuredContent = exact.result.structuredContent;
  return message;
}

/** Returns JSON of a value, with the marked numbers. */
export function exactJson(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replace(MARKED, (_, number) => number);
}

/** Returns true if a text is JSON of the value: white space, the order of keys and `1.0` for `1` do not matter. */
export function isJsonOf(text: string, value: unknown): boolean {
  try {
    return canonicalJson(JSON.parse(markNonFinite(text), markNumber)) === canonicalJson(value);
  } catch {
    return false; // the text is no JSON
  }
}

function markNumber(_key: string, value: unknown, context?: NumberSource): unknown {
  const source = context?.source;
  return typeof value === "number" && source !== undefined && source !== String(value)
    ? MARK + source
    : value;
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member) => {
    if (typeof member === "string" && member.startsWith(MARK)) {
      return canonicalNumber(member.slice(MARK.length));
    }
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => a < b ? -1 : 1));
  });
}

/** Integers of any length are compared by their digits, other numbers by their value. */
function canonicalNumber(source: string): unknown {
  const number = Number(source);
  return /^-?\d+$/.test(source) || !Number.isFinite(number) ? MARK + source : number;
}
