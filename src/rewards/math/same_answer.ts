import { cleanLatex } from "./clean_latex.ts";
import { type Exact, isEqual, isKnown, multiply } from "./exact.ts";
import { type Expression, parseExpression } from "./expression.ts";
import { POINTS } from "./points.ts";
import { type Shape, shapeOf } from "./shape.ts";

/** Minimum number of points at which both expressions need a value to be compared. */
const MIN_POINTS = 3;
const PERCENT = /\\?%/g;
/** Maximum number of parts of an answer. */
const MAX_PARTS = 100;

/**
 * Returns true if two mathematical answers are equal: numbers by value, expressions by their values, sets
 * and lists in any order, tuples, intervals and matrices part by part, everything else as text.
 */
export function isSameAnswer(given: string, truth: string): boolean {
  const [first, second] = [given, truth].map((text) => cleanLatex(text.replace(PERCENT, "")));
  if (first === undefined || second === undefined || first === "") return false;
  if (isSamePlain(first, second) || isSameShape(shapeOf(first), shapeOf(second))) return true;
  const [hasPercent, shouldHave] = [given.includes("%"), truth.includes("%")];
  if (hasPercent === shouldHave) return false;
  return hasPercent ? isSamePlain(`(${first})/100`, second) : isSamePlain(first, `(${second})/100`);
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

/** Returns true if one equation is the other one multiplied by a number other than 0. */
function isMultiple(first: Expression, second: Expression): boolean {
  const values = [...valuesOf(first, second)];
  const nonZero = values.find(({ a, b }) => !isEqual(a, 0) && !isEqual(b, 0));
  return nonZero !== undefined && values.length >= MIN_POINTS &&
    values.every(({ a, b }) => isEqual(multiply(a, nonZero.b), multiply(b, nonZero.a)));
}

/** Removes spaces and braces around single characters. Words become lower case. */
function compact(text: string): string {
  const dense = text.replace(/\s/g, "").replace(/([_^])\{(\w)\}/g, "$1$2");
  return /^\p{L}{2,}$/u.test(dense) ? dense.toLowerCase() : dense;
}
