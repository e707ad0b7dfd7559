import { PythonTypeError } from "../jinja_errors.ts";
import { intOf, normalizeInt } from "./numbers.ts";
import type { Run } from "../run.ts";
import { charsOf, hasSurrogates } from "./text.ts";
import {
  Dict,
  Float,
  isList,
  Markup,
  Range,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from "./values.ts";

/** Returns whether Python's `==` holds. */
export function isEqual(a: Value, b: Value, run: Run): boolean {
  if (a === b) return true;
  if (typeof a === "string" && typeof b === "string") return false;
  if (a === null || b === null) return false;
  const [x, y] = [exactNumber(a), exactNumber(b)];
  if (x !== undefined || y !== undefined) return x !== undefined && y !== undefined && areSameNumber(x, y);
  const [s, t] = [stringOf(a), stringOf(b)];
  if (s !== undefined || t !== undefined) return s === t;
  run.step();
  if (isList(a)) return isList(b) && areEqual(a, b, run);
  if (a instanceof Tuple) return b instanceof Tuple && areEqual(a.items, b.items, run);
  if (a instanceof Dict) return b instanceof Dict && areDictsEqual(a, b, run);
  if (a instanceof Undefined) return b instanceof Undefined;
  if (a instanceof Range) {
    if (!(b instanceof Range) || a.length !== b.length) return false;
    return a.length === 0 || (a.start === b.start && (a.length === 1 || a.step === b.step));
  }
  if (a instanceof View) return b instanceof View && areViewsEqual(a, b, run);
  return false;
}

/** Python compares the items of collections by identity first, so that a list with `nan` equals itself. */
function areEqual(a: readonly Value[], b: readonly Value[], run: Run): boolean {
  return a.length === b.length && a.every((item, at) => isSame(item, b[at] as Value, run));
}

/** Returns whether two items are the same object or equal. */
export function isSame(a: Value, b: Value, run: Run): boolean {
  return a === b || isEqual(a, b, run);
}

function areDictsEqual(a: Dict, b: Dict, run: Run): boolean {
  if (a.size !== b.size) return false;
  return [...a.normals()].every((key) => {
    const other = b.get(key);
    return other !== undefined && isSame(a.get(key) as Value, other, run);
  });
}

function areViewsEqual(a: View, b: View, run: Run): boolean {
  return areSets(a, b) && a.dict.size === b.dict.size && isSubset(a, b, run);
}

/** Returns whether two views are sets for Python: of keys or of items. */
function areSets(a: View, b: View): boolean {
  return a.kind !== "values" && b.kind !== "values";
}

/** Returns whether a view contains all items of another view. Keys are found by their hash, which not all items have. */
function isSubset(a: View, b: View, run: Run): boolean {
  return a.items().every((item) => {
    if (b.kind === "keys") requireKey(item);
    return b.items().some((other) => isSame(item, other, run));
  });
}

/**
 * Orders views as sets: a view is less if the other view contains the first. Python looks at no item if the sizes decide
 * that the comparison does not hold.
 */
function orderViews(a: View, b: View, { operator, run }: { operator: string; run: Run }): number | undefined {
  const difference = a.dict.size - b.dict.size;
  const isPossible = difference === 0 ? operator.endsWith("=") : difference < 0 === operator.startsWith("<");
  if (!isPossible) return undefined;
  return (operator.startsWith("<") ? isSubset(a, b, run) : isSubset(b, a, run)) ? difference : undefined;
}

/** A number that JavaScript compares exactly with another, also a `number` with a `bigint`. */
function exactNumber(value: Value): number | bigint | undefined {
  return value instanceof Float ? value.value : intOf(value);
}

function areSameNumber(a: number | bigint, b: number | bigint): boolean {
  return typeof a === typeof b ? a === b : a >= b && a <= b;
}

/** Returns the sign of a comparison: negative if `a` is less. `undefined` if neither is less nor equal, as with `nan`. */
export function order(a: Value, b: Value, operator: string, run: Run): number | undefined {
  const [x, y] = [exactNumber(a), exactNumber(b)];
  if (x !== undefined && y !== undefined) return x < y ? -1 : x > y ? 1 : areSameNumber(x, y) ? 0 : undefined;
  const [s, t] = [stringOf(a), stringOf(b)];
  if (s !== undefined && t !== undefined) return compareStrings(s, t);
  if (isList(a) && isList(b)) return orderItems(a, b, { operator, run });
  if (a instanceof Tuple && b instanceof Tuple) return orderItems(a.items, b.items, { operator, run });
  if (a instanceof View && b instanceof View && areSets(a, b)) return orderViews(a, b, { operator, run });
  for (const value of [a, b]) if (value instanceof Undefined) value.fail();
  throw new PythonTypeError(
    `'${operator}' must not be between ${typeName(a)} and ${typeName(b)}`,
  );
}

function orderItems(
  a: readonly Value[],
  b: readonly Value[],
  { operator, run }: { operator: string; run: Run },
): number | undefined {
  run.step();
  for (const [at, item] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    if (!isSame(item, other, run)) return order(item, other, operator, run);
  }
  return a.length - b.length;
}

/** Compares texts by code points. UTF-16 has another order where characters take two units. */
export function compareStrings(a: string, b: string): number {
  if (!hasSurrogates(a) && !hasSurrogates(b)) return a < b ? -1 : a > b ? 1 : 0;
  const [x, y] = [charsOf(a), charsOf(b)];
  for (let at = 0; at < x.length && at < y.length; at++) {
    const difference = (x[at]?.codePointAt(0) ?? 0) - (y[at]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return x.length - y.length;
}

/** Returns whether Python's comparison (`<`, `<=`, `>` or `>=`) holds. */
export function isOrdered(a: Value, operator: "<" | "<=" | ">" | ">=", b: Value, run: Run): boolean {
  const sign = order(a, b, operator, run);
  if (sign === undefined) return false;
  if (sign === 0) return operator === "<=" || operator === ">=";
  return sign < 0 === operator.startsWith("<");
}

/**
 * Returns the form of a key by which a dict finds the key: equal keys have the same form. `undefined` for a value that
 * Python cannot hash.
 */
export function normalKey(key: Value): unknown {
  if (typeof key === "string") return key.startsWith("\0") ? `\0s${key}` : key;
  if (typeof key === "boolean") return key ? 1 : 0;
  if (key === null || typeof key === "number" || typeof key === "bigint") return key;
  if (key instanceof Float) {
    return Number.isInteger(key.value) ? normalizeInt(BigInt(key.value)) : floatKey(key);
  }
  if (key instanceof Markup) return normalKey(key.text);
  if (key instanceof Tuple) return tupleKey(key);
  if (key instanceof Undefined) return "\0u";
  const isUnhashable = isList(key) || key instanceof Dict || (key instanceof View && key.kind !== "values");
  return isUnhashable ? undefined : key;
}

function floatKey(key: Float): unknown {
  return Number.isNaN(key.value) ? key : key.value;
}

function tupleKey({ items }: Tuple): string | undefined {
  const keys = items.map(normalKey);
  if (keys.includes(undefined)) return undefined;
  return `\0t${
    JSON.stringify(keys.map((key) => typeof key === "string" ? `s${key}` : `${typeof key}${String(key)}`))
  }`;
}

/** Returns the normal form of a key, or fails as Python does for a list or dict. */
export function requireKey(key: Value): unknown {
  const normal = normalKey(key);
  if (normal === undefined) throw new PythonTypeError(`a key must not be a ${typeName(key)}`);
  return normal;
}
