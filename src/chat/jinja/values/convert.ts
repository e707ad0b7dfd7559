import { requireKey } from "./compare.ts";
import { normalizeInt } from "./numbers.ts";
import { Dict, Float, type Value } from "./values.ts";

/** Most levels of data inside each other. */
const MAX_DEPTH = 500;

/**
 * Converts data of JSON to values of Python, as `json.loads` would read the text: a number is a float if the number's
 * text has a point or an exponent. `JSON.rawJSON` keeps a text such as `1.0`. Members that are `undefined` are left out.
 *
 * @throws {TypeError} if the data has a function or another value that JSON cannot have, or is nested too deep.
 */
export function toValue(data: unknown, depth = 0): Value {
  switch (typeof data) {
    case "string":
    case "boolean":
      return data;
    case "number":
      return numberValue(data);
    case "bigint":
      return normalizeInt(data);
    case "object":
      if (data === null) return null;
      if (depth > MAX_DEPTH) {
        throw new TypeError(`Cannot render data as it must be at most ${MAX_DEPTH} levels deep`);
      }
      if (Array.isArray(data)) {
        return data.map((item) => item === undefined ? null : toValue(item, depth + 1));
      }
      if (isRawJson(data)) return rawValue(data.rawJSON);
      return dictOf(data, depth);
  }
  throw new TypeError(`Cannot render data as it must be JSON: found a ${typeof data}`);
}

function numberValue(value: number): Value {
  if (Number.isSafeInteger(value)) return value + 0;
  if (!Number.isInteger(value)) return new Float(value);
  const text = String(value);
  return text.includes("e") ? new Float(value) : normalizeInt(BigInt(text));
}

function dictOf(data: object, depth: number): Dict {
  const dict = new Dict();
  const entries = data instanceof Map ? data : Object.entries(data);
  for (const [key, member] of entries) {
    if (member === undefined) continue;
    const name = toValue(key);
    dict.set(requireKey(name), name, toValue(member, depth + 1));
  }
  return dict;
}

const { isRawJSON } = JSON as unknown as { isRawJSON?: (value: unknown) => boolean };

function isRawJson(data: object): data is { rawJSON: string } {
  return isRawJSON?.(data) ?? false;
}

/** Reads a number, string, boolean or null of JSON. */
function rawValue(text: string): Value {
  if (/^-?\d+$/.test(text)) return normalizeInt(BigInt(text));
  const value: unknown = JSON.parse(text);
  return typeof value === "number" ? new Float(value) : toValue(value);
}
