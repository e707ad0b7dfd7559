import { isDenied } from "../extract_answer.ts";
import { type Exact, exactOf, floatOf, invert, isEqual, isKnown, multiply, negate } from "./exact.ts";
import { type Expression, parseExpression } from "./expression.ts";
import { cleanLatex } from "./latex.ts";
import {
  countDecimals,
  intervalOf,
  isRewritable,
  lowerFirst,
  rewriteLatex,
  rewriteTowards,
} from "./forms.ts";
import { namedValuesOf, nameOf, type Shape, shapeOf } from "./shape.ts";

/** Values of variables at which expressions are compared. */
export type Point = (variable: string) => Exact;

/** Range of the values of a point: integers from `from` to `to`, divided by `under`. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly under: number;
  readonly signs: "above" | "below" | "mixed";
}

const SMALL = { from: 29, to: 300, under: 97 };

/**
 * Mostly small numbers, where no term of a sum gets lost beside another one and few powers overflow. Some
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

/** Points at which each variable has its own value, independent of other points. */
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
const PERCENT = /\\?%/g;
/** Maximum number of sides of a chain of equations. */
const MAX_SIDES = 10;
/** Maximum number of parts of an answer. */
const MAX_PARTS = 100;

/**
 * Returns true if two mathematical answers are equal: numbers by value, expressions by their values, sets
 * and lists in any order, tuples, intervals and matrices part by part, everything else as text.
 */
export function isSameAnswer(given: string, truth: string): boolean {
  if (isSameAsWritten(given, truth)) return true;
  return (isRewritable(given) || isRewritable(truth)) && !isDenied(given) && !isDenied(truth) &&
    isSameRewritten(given, truth);
}

function isSameAsWritten(given: string, truth: string): boolean {
  const [first, second] = [given, truth].map((text) => cleanLatex(text.replace(PERCENT, "")));
  if (first === undefined || second === undefined || first === "") return false;
  if (compact(first) === compact(second)) return isDenied(given) === isDenied(truth);
  if (isDenied(given) !== isDenied(truth)) return false;
  if (isSamePlain(first, second)) return true;
  const [name, otherName] = [nameOf(first), nameOf(second)];
  if (name !== undefined && otherName !== undefined && name !== otherName) return false;
  if (isSameShape(shapeOf(first), shapeOf(second)) || isResultOfChain(first, second)) return true;
  const [hasPercent, shouldHave] = [given.includes("%"), truth.includes("%")];
  if (hasPercent === shouldHave) return false;
  return hasPercent ? isSamePlain(`(${first})/100`, second) : isSamePlain(first, `(${second})/100`);
}

/** Returns true if two answers are equal after rewrites of forms that few answers have. */
function isSameRewritten(given: string, truth: string): boolean {
  const [written, expected] = [given, truth].map((text) =>
    cleanLatex(rewriteLatex(text.replace(PERCENT, "")))
  );
  if (
    written === undefined || expected === undefined || written === "" ||
    given.includes("%") !== truth.includes("%")
  ) {
    return false;
  }
  const [first, second] = [rewriteTowards(written, expected), rewriteTowards(expected, written)];
  const [name, otherName] = [nameOf(first), nameOf(second)];
  if (name !== undefined && otherName !== undefined && name !== otherName) return false;
  return isSameShape(shapeOf(first), shapeOf(second)) || isRoundedTo(first, second) ||
    isRoundedTo(second, first) ||
    isSameInequality(first, second) || isSameRange(first, second) || isSameNamed(first, second) ||
    isSameNamed(second, first);
}

/** Returns true if a number with at least five decimals is a value to that number of decimals. */
function isRoundedTo(decimal: string, text: string): boolean {
  const decimals = countDecimals(decimal);
  if (decimals === 0 || countDecimals(text) > 0) return false;
  const value = parseExpression(text)?.(() => NaN);
  if (value === undefined || !isKnown(value)) return false;
  const [exact, rounded] = [floatOf(value), Number(decimal)];
  const difference = Math.abs(exact - rounded) * 10 ** decimals;
  return difference <= 0.5 + 1e-6 || (difference < 1 && Math.abs(rounded) < Math.abs(exact));
}

/** Returns true if two inequalities are the same, as `x < 1` and `-x > -1`. */
function isSameInequality(given: string, truth: string): boolean {
  const [first, second] = [lowerFirst(given), lowerFirst(truth)];
  if (first === undefined || second === undefined || first.sign !== second.sign) return false;
  const [left, right] = [parseExpression(first.difference), parseExpression(second.difference)];
  return left !== null && right !== null && isMultiple(left, right, { isPositive: first.sign !== "\\ne" });
}

/** Returns true if an inequality of one variable is an interval, or a union of intervals. */
function isSameRange(given: string, truth: string): boolean {
  const [first, second] = [intervalOf(given), intervalOf(truth)];
  if ((first === undefined) === (second === undefined)) return false;
  return isSameShape(shapeOf(first ?? given), shapeOf(second ?? truth));
}

/** Returns true if `x = 3, y = 4` is `(3, 4)` or `3, 4`, or `x_1 = 3, x_2 = 4` is `4, 3`. */
function isSameNamed(named: string, other: string): boolean {
  const values = namedValuesOf(named);
  if (values === undefined || namedValuesOf(other) !== undefined) return false;
  const shape = shapeOf(other);
  if (shape.kind === "plain" || shape.parts.length !== values.length) return false;
  const given = values.map(({ value }) => shapeOf(value));
  const isOneVariable = new Set(values.map(({ name }) => name.split("_", 1)[0])).size === 1;
  if (isOneVariable && shape.kind === "unordered") {
    return isSameShape({ kind: "unordered", parts: given }, shape);
  }
  if (shape.kind === "ordered" && shape.brackets !== "()") return false;
  return given.every((part, at) => isSameShape(part, shape.parts[at] ?? part));
}

/** Returns true if an answer is a chain of equal numbers, as `4*7 = 28`, that ends in the right one. */
function isResultOfChain(given: string, truth: string): boolean {
  const sides = given.split(/=|\\approx(?![a-zA-Z])/);
  const result = sides.at(-1) ?? "";
  if (sides.length < 2 || sides.length > MAX_SIDES || !isSamePlain(result, truth)) return false;
  const isNumber = /^[^a-zA-Z\\]*$/;
  return sides.every((side, at) =>
    (at === 0 && side.trim() === "") || (isNumber.test(side) && isSamePlain(side, result))
  );
}

function isSameShape(given: Shape, truth: Shape): boolean {
  if (given.kind === "plain" && truth.kind === "plain") return isSamePlain(given.text, truth.text);
  if (given.kind === "plain" || truth.kind === "plain" || given.kind !== truth.kind) return false;
  const { parts } = given;
  if (parts.length !== truth.parts.length || parts.length > MAX_PARTS) return false;
  if (given.kind === "ordered") {
    return given.brackets === (truth.kind === "ordered" ? truth.brackets : "") &&
      parts.every((part, at) => isSameShape(part, truth.parts[at] ?? part));
  }
  const remaining = [...truth.parts];
  return parts.every((part) => {
    const at = remaining.findIndex((other) => isSameShape(part, other));
    if (at >= 0) remaining.splice(at, 1);
    return at >= 0;
  });
}

function isSamePlain(given: string, truth: string): boolean {
  if (compact(given) === compact(truth)) return true;
  const [first, second] = [parseExpression(given), parseExpression(truth)];
  if (first !== null && second !== null) return isSameEverywhere(first, second);
  const [left, right] = [differenceOfSides(given), differenceOfSides(truth)];
  return left !== null && right !== null && isMultiple(left, right);
}

function isSameEverywhere(first: Expression, second: Expression): boolean {
  let points = 0;
  for (const { a, b, isConstant } of valuesOf(first, second)) {
    if (!isEqual(a, b)) return false;
    if (isConstant) return true;
    points++;
  }
  return points >= MIN_POINTS;
}

/** Yields the values of two expressions at the points where both have one; once if both are constant. */
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

/** Returns the difference between the sides of an equation. */
function differenceOfSides(text: string): Expression | null {
  const [left = "", right = "", ...others] = text.split("=");
  return others.length > 0 || right === "" ? null : parseExpression(`(${left})-(${right})`);
}

/** Returns true if one expression is the other one multiplied by a number other than 0, or above 0. */
function isMultiple(first: Expression, second: Expression, options: { isPositive?: boolean } = {}): boolean {
  const values = [...valuesOf(first, second)];
  const nonZero = values.find(({ a, b }) => !isEqual(a, 0) && !isEqual(b, 0));
  const { isPositive = false } = options;
  if (isPositive && nonZero !== undefined && floatOf(nonZero.a) * floatOf(nonZero.b) < 0) return false;
  return nonZero !== undefined && values.length >= MIN_POINTS &&
    values.every(({ a, b }) => isEqual(multiply(a, nonZero.b), multiply(b, nonZero.a)));
}

/** Removes spaces and braces around single characters. Words become lower case. */
function compact(text: string): string {
  const dense = text.replace(/\s/g, "").replace(/([_^])\{(\w)\}/g, "$1$2");
  return /^\p{L}{2,}$/u.test(dense) ? dense.toLowerCase() : dense;
}
