import { cleanLatex } from "./clean_latex.ts";
import { type Exact, isKnown, isSame, times } from "./exact.ts";
import { type Expression, parseExpression } from "./expression.ts";
import { POINTS } from "./points.ts";
import { type Shape, shapeOf } from "./shape.ts";

/** At how many points both of two expressions must have a value to be compared by it. */
const ENOUGH = 3;
const PERCENT = /\\?%/g;
/** More parts in one answer than any has. */
const MAX_PARTS = 100;

/**
 * Whether two mathematical answers are one: numbers by value, expressions by their values, sets and lists in any
 * order, tuples, intervals and matrices part by part, all else by its text.
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
  const left = [...truth.parts];
  return parts.every((part) => {
    const at = left.findIndex((other) => isSameShape(part, other));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

function isSamePlain(given: string, truth: string): boolean {
  if (compact(given) === compact(truth)) return true;
  const [first, second] = [parseExpression(given), parseExpression(truth)];
  if (first !== null && second !== null) return isSameEverywhere(first, second);
  const [left, right] = [sidesApart(given), sidesApart(truth)];
  return left !== null && right !== null && isMultiple(left, right);
}

function isSameEverywhere(first: Expression, second: Expression): boolean {
  let points = 0;
  for (const { a, b, isConstant } of valuesOf(first, second)) {
    if (!isSame(a, b)) return false;
    if (isConstant) return true;
    points++;
  }
  return points >= ENOUGH;
}

/** What two expressions are worth at the points where both have a value; once, if they are so everywhere. */
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

/** By how much the sides of an equation differ. */
function sidesApart(text: string): Expression | null {
  const [left = "", right = "", ...others] = text.split("=");
  return others.length > 0 || right === "" ? null : parseExpression(`(${left})-(${right})`);
}

/** Whether two equations say the same: whether one is the other, multiplied by a number that is not 0. */
function isMultiple(first: Expression, second: Expression): boolean {
  const values = [...valuesOf(first, second)];
  const some = values.find(({ a, b }) => !isSame(a, 0) && !isSame(b, 0));
  return some !== undefined && values.length >= ENOUGH &&
    values.every(({ a, b }) => isSame(times(a, some.b), times(b, some.a)));
}

/** Without spaces; words without their case too, and braces that hold one character. */
function compact(text: string): string {
  const dense = text.replace(/\s/g, "").replace(/([_^])\{(\w)\}/g, "$1$2");
  return /^\p{L}{2,}$/u.test(dense) ? dense.toLowerCase() : dense;
}
