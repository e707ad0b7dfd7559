import { isDenied } from "../extract_answer.ts";
import { isSameChoice } from "./choice.ts";
import { isSameTime } from "./clock.ts";
import { floatOf, isKnown } from "./exact.ts";
import { type Expression, parseExpression } from "./expression.ts";
import {
  countDecimals,
  intervalOf,
  isConstant,
  isQuantityName,
  isRewritable,
  isSingleName,
  isSolved,
  lowerFirst,
  namedQuantity,
  readDecimalComma,
  renameArgument,
  rewriteLatex,
  rewriteTowards,
  sidesOf,
  valueOfName,
} from "./forms.ts";
import { cleanLatex } from "./latex.ts";
import { isMultiple, isSameEverywhere } from "./points.ts";
import {
  areNeighbours,
  inUsualOrder,
  type NamedValue,
  namedValuesOf,
  nameOf,
  orderTuple,
  type Shape,
  shapeOf,
  valuesOfTuple,
} from "./shape.ts";
import { foldUnicode } from "./unicode.ts";
import { isSameMeasure } from "./units.ts";
import { foldNumberWords, hasOtherMeaning } from "./words.ts";

const PERCENT = /\\?%/g;
/** Maximum number of sides of a chain of equations. */
const MAX_SIDES = 10;
/** Maximum number of parts of an answer. */
const MAX_PARTS = 100;

/**
 * Returns true if two mathematical answers are equal: numbers by value, expressions by their values, sets and lists
 * in any order, tuples, intervals and matrices part by part, times by the hour of the day, choices by letter or
 * text, everything else as text.
 */
export function isSameAnswer(given: string, truth: string): boolean {
  const [first = "", second = ""] = [given, truth].map((text) => foldNumberWords(foldUnicode(text)));
  return isSameTime(first, second) ?? isSameChoice(first, second, isSameContent) ??
    isSameContent(first, second);
}

/** An answer in the form of the comparisons. */
interface Reading {
  /** The answer without per cent signs. */
  readonly written: string;
  /** The answer without typesetting, units and words. */
  readonly cleaned: string;
  readonly hasPercent: boolean;
  readonly isDenied: boolean;
}

function readAnswer(answer: string): Reading {
  const written = answer.replace(PERCENT, "");
  const cleaned = orderTuple(cleanLatex(written));
  return { written, cleaned, hasPercent: answer.includes("%"), isDenied: isDenied(answer) };
}

function isSameContent(given: string, truth: string): boolean {
  if (hasOtherMeaning(given, truth)) return false;
  const [first, second] = [readAnswer(given), readAnswer(truth)];
  if (first.cleaned === "" || first.isDenied !== second.isDenied) return false;
  const isSame = isSameMeasure({ answer: given, ...first }, { answer: truth, ...second }, isSamePlain);
  if (isSame !== undefined) return isSame;
  if (isSameAsWritten(first, second)) return true;
  return (isRewritable(given) || isRewritable(truth)) && !first.isDenied &&
    first.hasPercent === second.hasPercent &&
    isSameRewritten(first, second);
}

function isSameAsWritten(given: Reading, truth: Reading): boolean {
  const [first, second] = [given.cleaned, truth.cleaned];
  if (compact(given.written) === compact(truth.written) || isSamePlain(first, second)) return true;
  if (hasOtherName(first, second)) return false;
  if (isSameShape(shapeOf(first), shapeOf(second)) || isResultOfChain(first, second)) return true;
  if (given.hasPercent === truth.hasPercent) return false;
  return given.hasPercent ? isSamePlain(`(${first})/100`, second) : isSamePlain(first, `(${second})/100`);
}

/** Returns true for `x = 2` and `y = 2`. */
function hasOtherName(first: string, second: string): boolean {
  const [name, otherName] = [nameOf(first), nameOf(second)];
  return name !== undefined && otherName !== undefined && name !== otherName;
}

/** Returns true if two answers are equal after rewrites of forms that few answers have. */
function isSameRewritten(given: Reading, truth: Reading): boolean {
  const [written, expected] = [rewritten(given), rewritten(truth)];
  const [first, second] = [
    renameArgument(readDecimalComma(rewriteTowards(written, expected), expected), expected),
    rewriteTowards(expected, written),
  ];
  if (written === "" || hasOtherName(first, second)) return false;
  const quantity = namedQuantity(first);
  const named = valueOfName(second);
  return isSameShape(shapeOf(first), shapeOf(second)) || isRoundedTo(first, second) ||
    isRoundedTo(second, first) || (quantity !== undefined && isSamePlain(quantity, second)) ||
    (named !== second && isSamePlain(first, named)) ||
    isSameInequality(first, second) || isSameRange(first, second) ||
    isSameNamed(first, { text: second, isOrdered: isOrdered(expected, truth.written) }) ||
    isSameNamed(second, { text: first, isOrdered: isOrdered(written, given.written) });
}

function rewritten({ written, cleaned }: Reading): string {
  const text = rewriteLatex(written);
  return text === written ? cleaned : orderTuple(cleanLatex(text));
}

/** Returns true unless an answer is a set in braces, or names alternatives by `or`. */
function isOrdered(cleaned: string, written: string): boolean {
  return !/^\\?\{/.test(cleaned) && !/(?<![a-zA-Z])or(?![a-zA-Z])/.test(written);
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
  if (isSolved(truth) && !isSolved(given)) return false;
  const [left, right] = [parseExpression(first.difference), parseExpression(second.difference)];
  return left !== null && right !== null && isMultiple(left, right, { isPositive: first.sign !== "\\ne" });
}

/** Returns true if an inequality of a variable is an interval, or a union of intervals. */
function isSameRange(given: string, truth: string): boolean {
  const [first, second] = [intervalOf(given), intervalOf(truth)];
  if ((first === undefined) === (second === undefined)) return false;
  if ((first === undefined ? given : truth).includes("=")) return false; // a point, as `(x,y) = (1,2)`
  return isSameShape(shapeOf(first ?? given), shapeOf(second ?? truth));
}

/**
 * Returns true if `x = 3, y = 4` is `(3, 4)` or `3, 4`, `x_1 = 3, x_2 = 4` is `4, 3`, or
 * `x = 3, y = 4, x = 5, y = 6` is `(3, 4), (5, 6)`. Several names count in their usual order. The values of a
 * variable are a list, and no point.
 */
function isSameNamed(named: string, other: { readonly text: string; readonly isOrdered: boolean }): boolean {
  const values = namedValuesOf(named);
  if (values === undefined) return false;
  const text = valuesOfTuple(other.text, values) ?? other.text;
  const shape = shapeOf(text);
  if (shape.kind === "plain" || /=|\\in(?![a-zA-Z])/.test(text)) return false;
  const points = pointsOf(values);
  if (points !== undefined) return isSameShape({ kind: "unordered", parts: points }, shape);
  const isOneVariable = new Set(values.map(({ name }) => name.split("_", 1)[0])).size === 1;
  const isSameOrder = (given: readonly NamedValue[]) =>
    shape.parts.length === given.length &&
    given.every(({ value }, at) => isSameShape(shapeOf(value), shape.parts[at] ?? shape));
  if (isOneVariable) {
    return isSameShape({ kind: "unordered", parts: values.map(({ value }) => shapeOf(value)) }, shape);
  }
  if (shape.kind === "ordered" ? shape.brackets !== "()" : !other.isOrdered) return false;
  return isSameOrder(inUsualOrder(values)) ||
    (shape.kind === "unordered" && !areNeighbours(values) && isSameOrder(values));
}

/** Returns the points of values whose names repeat; `undefined` for any other values. */
function pointsOf(values: readonly NamedValue[]): Shape[] | undefined {
  const count = new Set(values.map(({ name }) => name)).size;
  const isRepeated = count > 1 && count < values.length && values.length % count === 0;
  if (!isRepeated) return undefined;
  const groups = Array.from(
    { length: values.length / count },
    (_, at) => values.slice(at * count, (at + 1) * count),
  );
  if (!groups.every((group) => new Set(group.map(({ name }) => name)).size === count)) return undefined;
  return groups.map((group): Shape => {
    const parts = inUsualOrder(group).map(({ value }) => shapeOf(value));
    return { kind: "ordered", brackets: "()", parts };
  });
}

/**
 * Returns true if an answer is a chain of equal numbers, as `4*7 = 28`, that ends in the right number. The first sides
 * may name the quantity, as in `m+n = 4+7 = 11` and `AB = BC = 5`.
 */
function isResultOfChain(given: string, truth: string): boolean {
  const sides = sidesOf(given);
  const [first = ""] = sides;
  const result = sides.at(-1) ?? "";
  if (sides.length < 2 || sides.length > MAX_SIDES) return false;
  const names = sides.length > 2 ? sides.findIndex((side) => !isSingleName(side)) : 0;
  const isNamed = first === "" || /^[a-zA-Z]$/.test(first) || (sides.length > 2 && isQuantityName(first));
  const expected = isNamed && sides.length > 2 ? valueWithName(truth, first) : truth;
  return isSamePlain(result, expected) &&
    sides.every((side, at) =>
      (at === 0 && isNamed) || at < names || (isConstant(side) && isSamePlain(side, result))
    );
}

/** Returns the value of `name = value`, and any other text unchanged. */
function valueWithName(text: string, name: string): string {
  const [left = "", value = "", ...others] = text.split("=");
  return value !== "" && others.length === 0 && compact(left) === compact(name) ? value : text;
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
  return left !== null && right !== null && (isSolved(given) || !isSolved(truth)) && isMultiple(left, right);
}

/** Returns the difference between the sides of an equation. */
function differenceOfSides(text: string): Expression | null {
  const [left = "", right = "", ...others] = text.split("=");
  return others.length > 0 || right === "" ? null : parseExpression(`(${left})-(${right})`);
}

/** Removes braces around single characters, and spaces but for those between digits. Words become lower case. */
function compact(text: string): string {
  const dense = text.replace(/\s+/g, " ").replace(/(?<!\d) | (?!\d)/g, "").replace(/([_^])\{(\w)\}/g, "$1$2");
  return /^\p{L}{2,}$/u.test(dense) ? dense.toLowerCase() : dense;
}
