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
  if (isSameShape(shapeOf(first), shapeOf(second))) return true;
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
  if (first === null || second === null) return false;
  return POINTS.every((point, at) => {
    const variables = valuesAt(point, at);
    return isSame(first(variables), second(variables));
  });
}

/** Each variable has a value of its own at each point. */
function valuesAt([over, under]: readonly [string, string], at: number): (name: string) => Exact {
  return (name) => {
    if (name === "e") return Math.E;
    const own = exactOf(String(name.codePointAt(name.length - 1) ?? 0));
    const slope = times(exactOf(over), inverse(exactOf(under)));
    return times(own, times(slope, exactOf(String(at + 1))));
  };
}

/** Without spaces; words without their case too, and braces that hold one character. */
function compact(text: string): string {
  const dense = text.replace(/\s/g, "").replace(/([_^])\{(\w)\}/g, "$1$2");
  return /^\p{L}{2,}$/u.test(dense) ? dense.toLowerCase() : dense;
}
