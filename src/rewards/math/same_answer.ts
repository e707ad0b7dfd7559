import { cleanLatex } from "./clean_latex.ts";
import { type Exact, exactOf, inverse, isSame, times } from "./exact.ts";
import { parseExpression } from "./expression.ts";
import { type Shape, shapeOf } from "./shape.ts";

/** Where expressions with variables are compared: three points that no identity is made for. */
const POINTS: readonly (readonly [over: string, under: string])[] = [["17", "7"], ["29", "11"], ["43", "31"]];
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
  const [first, second] = [valuesOf(given), valuesOf(truth)];
  if (first !== null && second !== null) return isSameAtAll(first, second);
  const [left, right] = [sidesApart(given), sidesApart(truth)];
  return left !== null && right !== null && isMultiple(left, right);
}

/** What an expression is worth at each of the points; `null` when it is none. */
function valuesOf(text: string): Exact[] | null {
  const expression = parseExpression(text);
  return expression && POINTS.map((point, at) => expression(valuesAt(point, at)));
}

function isSameAtAll(first: readonly Exact[], second: readonly Exact[]): boolean {
  return first.every((value, at) => isSame(value, second[at] ?? NaN));
}

/** By how much the sides of an equation differ at each of the points. */
function sidesApart(text: string): Exact[] | null {
  const [left = "", right = "", ...others] = text.split("=");
  return others.length > 0 || right === "" ? null : valuesOf(`(${left})-(${right})`);
}

/** Whether two equations say the same: whether one is the other, multiplied by a number that is not 0. */
function isMultiple(first: readonly Exact[], second: readonly Exact[]): boolean {
  const [a, b] = [first[0] ?? NaN, second[0] ?? NaN];
  const isNothing = [...first, ...second].some((value) => isSame(value, 0));
  return !isNothing &&
    isSameAtAll(first.map((value) => times(value, b)), second.map((value) => times(value, a)));
}

/** Each variable has a value of its own at each point. */
function valuesAt([over, under]: readonly [string, string], at: number): (name: string) => Exact {
  return (name) => {
    if (name === "e") return Math.E;
    const own = exactOf(
      String([...name].reduce((sum, letter) => (31 * sum + letter.charCodeAt(0)) % 9973, 0)),
    );
    const slope = times(exactOf(over), inverse(exactOf(under)));
    return times(own, times(slope, exactOf(String(at + 1))));
  };
}

/** Without spaces; words without their case too, and braces that hold one character. */
function compact(text: string): string {
  const dense = text.replace(/\s/g, "").replace(/([_^])\{(\w)\}/g, "$1$2");
  return /^\p{L}{2,}$/u.test(dense) ? dense.toLowerCase() : dense;
}
