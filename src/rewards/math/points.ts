import { type Exact, exactOf, floatOf, invert, isEqual, isKnown, multiply, negate } from "./exact.ts";
import type { Expression } from "./expression.ts";

/** Values of variables at which expressions are compared. */
type Point = (variable: string) => Exact;

/** Range of the values of a point: integers from `from` to `to`, divided by `under`. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly under: number;
  readonly signs: "above" | "below" | "mixed";
}

const SMALL = { from: 29, to: 300, under: 97 };

/**
 * Mostly small numbers, where no term of a sum gets lost beside another term and few powers overflow. Some
 * are negative, some below 1. Expressions that only have a value for large numbers or for integers get such
 * points, too.
 */
const RANGES: readonly Range[] = [
  ...repeat(5, { ...SMALL, signs: "above" }),
  ...repeat(1, { ...SMALL, signs: "below" }),
  ...repeat(6, { ...SMALL, signs: "mixed" }),
  ...repeat(4, { from: 5, to: 92, under: 97, signs: "mixed" }),
  ...repeat(2, { from: 300, to: 4_000, under: 97, signs: "above" }),
  ...repeat(3, { from: 10_000, to: 90_000, under: 97, signs: "above" }),
  ...repeat(8, { from: 1, to: 12, under: 1, signs: "above" }),
];

/** Points at which each variable has a separate value, independent of other points. */
const POINTS: readonly Point[] = RANGES.map((range, at) => (variable) =>
  valueOf(range, hash(`${at} ${variable}`))
);

function valueOf({ from, to, under, signs }: Range, bits: number): Exact {
  const over = from + (bits >>> 1) % (to - from + 1);
  const value = multiply(exactOf(String(over)), invert(exactOf(String(under))));
  return signs === "below" || (signs === "mixed" && bits % 2 === 1) ? negate(value) : value;
}

/** Hashes a text to 32 bits (FNV-1a, then the last steps of MurmurHash3). */
function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (const letter of text) bits = Math.imul(bits ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

function repeat(count: number, range: Range): Range[] {
  return Array.from({ length: count }, () => range);
}

/** Minimum number of points at which both expressions need a value to be compared. */
const MIN_POINTS = 3;

/** Returns true if two expressions have the same value wherever both have a value. */
export function isSameEverywhere(first: Expression, second: Expression): boolean {
  let points = 0;
  for (const { a, b, isConstant } of valuesOf(first, second)) {
    if (!isEqual(a, b)) return false;
    if (isConstant) return true;
    points++;
  }
  return points >= MIN_POINTS;
}

/** Yields the values of two expressions at the points where both have a value; once if both are constant. */
function* valuesOf(
  first: Expression,
  second: Expression,
): Generator<{ readonly a: Exact; readonly b: Exact; readonly isConstant: boolean }> {
  for (const point of POINTS) {
    let isConstant = true;
    const variables = (name: string) => {
      if (name === "e") return Math.E;
      isConstant = false;
      return point(name);
    };
    const [a, b] = [first(variables), second(variables)];
    if (isKnown(a) && isKnown(b)) yield { a, b, isConstant };
    if (isConstant) return;
  }
}

/** Returns true if an expression is the other expression multiplied by a number other than 0, or above 0. */
export function isMultiple(
  first: Expression,
  second: Expression,
  options: { isPositive?: boolean } = {},
): boolean {
  const values = [...valuesOf(first, second)];
  const nonZero = values.find(({ a, b }) => !isEqual(a, 0) && !isEqual(b, 0));
  const { isPositive = false } = options;
  if (isPositive && nonZero !== undefined && floatOf(nonZero.a) * floatOf(nonZero.b) < 0) return false;
  return nonZero !== undefined && values.length >= MIN_POINTS &&
    values.every(({ a, b }) => isEqual(multiply(a, nonZero.b), multiply(b, nonZero.a)));
}

/** Returns the names of the variables of an expression. Euler's number is none. */
export function variablesOf(expression: Expression): ReadonlySet<string> {
  const names = new Set<string>();
  expression((name) => {
    if (name !== "e") names.add(name);
    return NaN;
  });
  return names;
}
