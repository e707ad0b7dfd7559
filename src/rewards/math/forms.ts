import { parseExpression } from "./expression.ts";
import { variablesOf } from "./points.ts";

type Rewrite = readonly [pattern: RegExp, by: string];

/** Rewrites of LaTeX that few answers have. Each pattern is linear in the length of the text. */
const REWRITES: readonly Rewrite[] = [
  [/(?<!\\)\\ /g, " "],
  [/,?\s?\\text\s?\{\s?for (?:all|every|any|each)[^{}]{0,40}\}.{0,80}$/, ""],
  [
    /,\s?(?:\\text\s?\{\s?(?:where|for|with)\s?\}\s?)?[klmn]\s?\\in\s?(?:\\mathbb\s?\{?Z\}?|ℤ)[\s$]{0,5}$/,
    "",
  ],
  [/\{([^{}]{1,50})\\choose(?![a-zA-Z])([^{}]{1,50})\}/g, "\\binom{$1}{$2}"],
  [/(?<![\w})])(?:\{\s?\}\s?)?_\{?(\d{1,4})\}?\s?C\s?_\{?(\d{1,4})\}?/g, "\\binom{$1}{$2}"],
  [/\\textnormal(?![a-zA-Z])/g, "\\text"],
  [/\\bar\s?\{(\d{1,15})\}/g, "\\overline{$1}"],
  [/(?<=[\d}] ?)\\math(?:rm|bf|it)\s?\{\s?([a-zA-Z](?:\/[a-zA-Z]{1,2})?)\s?\}/g, " \\text{$1}"],
  [/\\\\\s?\[\d{1,3}(?:\.\d)?\s?[a-z]{2}\]/g, "\\\\"],
  [/\{([^{}]{1,200})\\over(?![a-zA-Z])([^{}]{1,200})\}/g, "\\frac{$1}{$2}"],
  [/\\lnot(?![a-zA-Z])/g, "\\neg"],
  [/\\mathrm\s?\{\s?e\s?\}/g, "e"],
  [/(?<![\w.])(\d{1,20}(?:\.\d{1,20})?)[eE]([-+]?\d{1,3})(?![\w.])/g, "$1\\cdot 10^{$2}"],
  [/(\\boxed\s?\{[^{}]{0,200}\})[\s.$]{0,5}(?:and|or|,)[\s$]{0,5}(?=\\boxed)/g, "$1,"],
  [/^[\s$]{0,5}([a-zA-Z](?:_\{?\w\}?)?)\s?\\approx(?![a-zA-Z])/, "$1="],
  [/\\mathbb\s?\{?R\}?(?![a-zA-Z}])|\\R(?![a-zA-Z])|ℝ/g, "(-\\infty,\\infty)"],
  [/(?<![a-zA-Z\\])i\s?\^\s?(?:2|\{2\})(?!\d)/g, "(-1)"],
  [/(?<![a-zA-Z\\])i\s?\^\s?(?:3|\{3\})(?!\d)/g, "(-i)"],
  [/(?<![a-zA-Z\\])i\s?\^\s?(?:4|\{4\})(?!\d)/g, "1"],
  [/\\sqrt\s?\{\s?-\s?(\d{1,15})\s?\}/g, "(\\sqrt{$1}i)"],
  [/;(?!\s*$)/g, ", "],
  [/(?<=[\d)}$])\s{0,3},?\s{0,3}(?:and|or)\s{0,3}(?=[-\d(\\$a-zA-Z])/g, ", "],
];

/** A system of equations, which is a list of them. The cases of a function have more columns. */
const SYSTEM =
  /^[\s$]*(?:\\left\s?\\\{)?\s?\\begin\{(?:cases|aligned)\}([^&]{0,500}(?:&=[^&]{0,500}){0,9})\\end\{(?:cases|aligned)\}\s?(?:\\right\.)?[\s$]*$/;

const REWRITABLE =
  /[=<>≤≥≠;,{ℝ^]|\\(?:[lgn][et]|over|bar|text|math|approx|begin|R\b| )|\.\d{5}|\d[eE][-+\d]|\d ?[a-zA-Z]/;

/** Returns true if an answer may have one of the forms that this file rewrites. */
export function isRewritable(answer: string): boolean {
  return REWRITABLE.test(answer);
}

/** Rewrites an answer in LaTeX, where the first reading has found no equal answer. */
export function rewriteLatex(answer: string): string {
  const system = SYSTEM.exec(answer)?.[1];
  const listed = system?.replaceAll("&", "").replace(/,?\s{0,9}\\\\/g, ", ") ?? answer;
  return REWRITES.reduce((text, [pattern, by]) => text.replace(pattern, by), listed);
}

/** A number with a unit of a single letter, or a quotient of units, after a space: `84 m`, `13 km/h`. */
const WITH_UNIT = /^(-?[\d.,]{1,30}) ([a-zA-Z]{1,3}(?:\/[a-zA-Z]{1,3})?)(?:\^\{?\d\}?)?$/;
const UNITS = new Set("m s g h l L N J W V A K km cm mm kg mg ml min sec hr mi ft".split(" "));
const DECIMAL_COMMA = /^-?(?:\d{1,20},(?:\d{1,2}|\d{4,15})|0,\d{3})$/;
const MATRIX_IN_BRACKETS = /^[([]\s?(\\begin\{(?:array|matrix)\}.*\\end\{(?:array|matrix)\})\s?[)\]]$/s;
const SCALED_MATRIX =
  /^([^&\\]{1,50}|[^&]{0,50}\\frac\{[^{}&]{1,50}\}\{[^{}&]{1,50}\}[^&]{0,50}?)\*?\s?(\\begin\{[pb]matrix\})(.*)(\\end\{[pb]matrix\})$/s;

/** Parts of `AB`, `|AB|`, `V_1:V_2` and other names of lengths, areas and ratios. */
const SIZE_PART = /[A-Z|: ]|\\angle |_\{?\w{1,8}\}?|\\frac\s?\{[A-Z]{1,3}\}\s?\{[A-Z]{1,3}\}/y;
/** Parts of `S_{10}`, `AB`, `|A \cup B|`, `V_1:V_2`. */
const QUANTITY_PART = /[A-Z|: ]|\\(?:angle|triangle|cup|cap)(?![a-zA-Z])|_\{?\w{1,8}\}?/y;
/** Maximum number of parts of a name. */
const MAX_NAME_PARTS = 20;
/** A column that is written as a transposed row. */
const TRANSPOSED = /^\(([^()]{1,200})\)\s?\^\s?\{?\s?(?:T|\\top|\\intercal)\s?\}?$/;
const BRACED = /^\{([^{}]*,[^{}]*)\}$/;

/** Rewrites a cleaned answer to the form of another answer, `truth`. */
export function rewriteTowards(answer: string, truth: string): string {
  const size = truth.includes("=") ? undefined : valueOfSize(answer);
  const text = size ?? MATRIX_IN_BRACKETS.exec(answer)?.[1] ?? BRACED.exec(answer)?.[1] ?? answer;
  const [, number, unit = ""] = WITH_UNIT.exec(text) ?? [];
  if (number !== undefined && !/[a-zA-Z]/.test(truth) && unit.split("/").every((word) => UNITS.has(word))) {
    return number;
  }
  const row = truth.includes("matrix") ? TRANSPOSED.exec(text)?.[1] : undefined;
  if (row !== undefined) return `\\begin{pmatrix}${row.replaceAll(",", " \\\\ ")}\\end{pmatrix}`;
  return scaleMatrix(text);
}

/** Returns the value of `AB = 5`, `|AB| = 5` or `V_1:V_2 = 5`; `undefined` for any other text. */
function valueOfSize(text: string): string | undefined {
  const [name = "", value = "", ...others] = text.split("=", 3);
  return value !== "" && others.length === 0 && isMadeOf(name, SIZE_PART) ? value.trim() : undefined;
}

/**
 * Returns true if a text consists of 1 to {@linkcode MAX_NAME_PARTS} parts. An index may end after each letter
 * of the index, so a run of `_` has many readings. The search is breadth-first and visits a position only once.
 */
function isMadeOf(text: string, part: RegExp): boolean {
  const fewestParts = new Map([[0, 0]]);
  for (const [at, count] of fewestParts) {
    if (at === text.length) return count > 0;
    part.lastIndex = at;
    if (count === MAX_NAME_PARTS || !part.test(text)) continue;
    const last = part.lastIndex;
    const first = text[at] === "_" ? at + (text[at + 1] === "{" ? 3 : 2) : last;
    for (let end = first; end <= last; end++) {
      if (!fewestParts.has(end)) fewestParts.set(end, count + 1);
    }
  }
  return false;
}

/** `f(x) = x + 1`. */
const DEFINITION = /^([a-zA-Z])\(([a-z])\)\s?=(.*)$/s;

/** Renames the argument of `f(t) = t + 1` to the argument of `f(x) = …`. */
export function renameArgument(text: string, truth: string): string {
  const [, name = "", argument = ""] = DEFINITION.exec(truth) ?? [];
  const [, given, other = "", value = ""] = DEFINITION.exec(text) ?? [];
  if (given !== name || name === "" || other === argument) return text;
  const words: readonly string[] = value.match(/\\[a-zA-Z]+|[^\\]|\\/g) ?? [];
  if (words.includes(argument)) return text;
  return `${name}(${argument})=${words.map((word) => word === other ? argument : word).join("")}`;
}

/**
 * Returns a number of a reply with a decimal point for a decimal comma, if the expected answer is no list. An
 * expected answer with a comma is a list.
 */
export function readDecimalComma(given: string, truth: string): string {
  return DECIMAL_COMMA.test(given) && !truth.includes(",") ? given.replace(",", ".") : given;
}

/** Multiplies the entries of a matrix by the preceding number. */
function scaleMatrix(text: string): string {
  const [, factor, begin = "", inside = "", end = ""] = SCALED_MATRIX.exec(text) ?? [];
  if (factor === undefined || factor.trim() === "" || inside.includes("\\begin")) return text;
  const rows = inside.split("\\\\").filter((row) => row.trim() !== "").map((row) =>
    row.split("&").map((entry) => `(${factor})*(${entry})`).join("&")
  );
  return `${begin}${rows.join("\\\\")}${end}`;
}

const SIGN = /<|>|\\(?:le|ge|ne)(?![a-zA-Z])/g;
const TURNED: Readonly<Record<string, string>> = { "<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le" };

/** Sides of inequalities, of which each is compared to the next by a sign. */
interface Inequality {
  readonly sides: readonly string[];
  readonly signs: readonly string[];
}

function readInequality(text: string): Inequality | undefined {
  const signs = text.match(SIGN) ?? [];
  const sides = text.split(SIGN).map((side) => side.trim());
  return signs.length > 0 && signs.length <= 2 && sides.every((side) => side !== "")
    ? { sides, signs }
    : undefined;
}

/** Returns true if a text is an expression without variables. */
export function isConstant(text: string): boolean {
  const parsed = parseExpression(text);
  return parsed !== null && variablesOf(parsed).size === 0;
}

/** Returns true for `x = 5`, `5 > x` and `-x < -5`: a variable on one side, and no variable on the other. */
export function isSolved(text: string): boolean {
  const sides = text.split(/=|<|>|\\(?:le|ge|ne)(?![a-zA-Z])/).map((side) =>
    side.trim().replace(/^-\s?/, "")
  );
  const [left = "", right = ""] = sides;
  return sides.length === 2 &&
    ((VARIABLE.test(left) && isConstant(right)) || (VARIABLE.test(right) && isConstant(left)));
}

/**
 * Returns the value of `a + b = 12`, an equation that names a quantity of several variables; `undefined` for any
 * other text.
 */
export function namedQuantity(text: string): string | undefined {
  const [left = "", right = "", ...others] = sidesOf(text);
  if (right === "" || others.length > 0) return undefined;
  if (isValueName(left)) return right.trim();
  return isNamedSum(left) && isConstant(right) ? right.trim() : undefined;
}

/** Returns the value of `\det A = 12`, and any other text unchanged. The name is no unknown of an equation. */
export function valueOfName(text: string): string {
  const [left = "", right = "", ...others] = sidesOf(text);
  return right !== "" && others.length === 0 && isValueName(left) ? right.trim() : text;
}

function isValueName(text: string): boolean {
  const name = text.trim();
  return FUNCTION_VALUE.test(name) || VALUE_NAME.test(name) || isComputation(name);
}

/** Returns true for a limit, sum or integral of a variable, as `\int_0^1 x\,dx`. The value is not computed. */
function isComputation(text: string): boolean {
  if (!/^\\(?:lim|sum|prod|int)(?![a-zA-Z])/.test(text)) return false;
  const letters = text.replace(/\\[a-zA-Z]+/g, " ").match(/[a-zA-Z]/g) ?? [];
  return new Set(letters.filter((letter) => !"de".includes(letter))).size <= 1;
}

/**
 * Returns the sides of an equation or chain, but for signs in parentheses and braces, as in `P(X = 2)` and `\sum_{k=1}`.
 */
export function sidesOf(text: string): string[] {
  return text.split(/(?:=|\\approx(?![a-zA-Z]))(?![^()]{0,30}\))(?![^{}]{0,30}\})/).map((side) =>
    side.trim()
  );
}

/** Returns true for the name of a quantity that is no sum: `x`, `AB`, `\angle A`, `f(3)`. */
export function isSingleName(text: string): boolean {
  return isQuantityName(text) && !/[-+*/]/.test(text);
}

/** Returns true for the name of a quantity: `x`, `S_{10}`, `AB`, `f(3)`, `n(A\cup B)`, `m + n`. */
export function isQuantityName(text: string): boolean {
  const name = text.trim();
  if (isConstant(name) || name === "\\infty") return false;
  return VARIABLE.test(name) || isValueName(name) || QUANTITY_NAME.test(name) ||
    isMadeOf(name, QUANTITY_PART) || isNamedSum(name);
}

/**
 * Returns true for `a + b` and `a_1 + a_2`, terms of several variables. With factors or powers they are a line or a
 * curve.
 */
function isNamedSum(text: string): boolean {
  const indexed = /_(?:\{\w{1,8}\}|\w)/g;
  const plain = text.replace(indexed, "");
  if (/[\d^]/.test(plain)) return false;
  const name = parseExpression(plain);
  if (name === null || variablesOf(name).size === 0) return false;
  return new Set(text.match(/(?:\\[a-z]{2,8}|[a-zA-Z])(?:_(?:\{\w{1,8}\}|\w))?/g)).size > 1;
}

/** Returns an inequality with the lower side first: the difference of the sides is below 0, at most 0, or not 0. */
export function lowerFirst(
  text: string,
): { readonly sign: "<" | "\\le" | "\\ne"; readonly difference: string } | undefined {
  const { sides: [left = "", right = ""], signs: [sign = "", more] } = readInequality(text) ?? NONE;
  if (sign === "" || more !== undefined) return undefined;
  const isBelow = sign === "<" || sign === "\\le";
  return {
    sign: sign === "\\ne" ? "\\ne" : sign === "<" || sign === ">" ? "<" : "\\le",
    difference: isBelow ? `(${left})-(${right})` : `(${right})-(${left})`,
  };
}

const NONE: Inequality = { sides: [], signs: [] };
/** `f(3)`, `P(X = 2)`, `\gcd(12, 18)`. */
const FUNCTION_VALUE =
  /^(?:[a-zA-Z](?:\^\{?-1\}?)?|\\(?:gcd|det|max|min|deg|dim)|\\(?:text|mathrm|operatorname)\s?\{\s?[a-zA-Z]{1,20}\s?\})\s?\([^()]{1,30}\)$/;
/** `\det A`, `\operatorname{rank} A`, `|z|`, `\|v\|`, `\mathbb{E}[X]`, `\lim_{x \to 0} f(x)`, `m\angle ABC`. */
const VALUE_NAME = new RegExp(
  "^(?:" + [
    String
      .raw`(?:\\(?:det|dim|arg|deg|rank|tr)|\\(?:operatorname|text|mathrm)\s?\{\s?[a-zA-Z]{2,12}\s?\})\s?[a-zA-Z]`,
    String.raw`\|\s?(?:[zw](?:_\{?\w\}?)?|\\vec\s?\{?\s?[a-zA-Z]\s?\}?)\s?\|`,
    String.raw`\\\|\s?(?:[a-zA-Z]|\\vec\s?\{?\s?[a-zA-Z]\s?\}?)\s?\\\|`,
    String.raw`\\mathbb\s?\{?\s?[EPV]\s?\}?\s?[([][^()[\]]{1,30}[)\]]`,
    String.raw`\\lim_\{[^{}]{1,30}\}\s?[a-zA-Z](?:\([a-zA-Z]\)|_\{?[a-zA-Z]\}?)`,
    String.raw`[a-zA-Z]_\{?\s?\\(?:max|min)\s?\}?|\\(?:max|min)\s?[a-z]|\\Pr\s?\([^()]{1,30}\)`,
    String.raw`[A-Z]_\{\s?\\triangle\s?[A-Z]{3}\s?\}`,
    String.raw`[a-zA-Z]{1,2}(?:\s?:\s?[a-zA-Z]{1,2}){1,3}`,
    String.raw`(?:m\s?)?\\angle\s?[A-Z]{1,3}`,
  ].join("|") + ")$",
);
/** `S_{10}`, `x_{1, 2}`, `[ABC]`, `\overline{AB}`. */
const QUANTITY_NAME =
  /^(?:\\?[a-zA-Z]{1,8}_(?:\{[\w ,]{1,8}\}|\w)|\[[A-Z]{3,8}\]|\\overline\s?\{[A-Z]{2}\})$/;
const VARIABLE = /^(?:[a-zA-Z](?:_\{?\w\}?)?|[a-zA-Z]\([a-zA-Z]\)|\\[a-z]{2,7})$/;

/** Returns the interval of `2 \le x < 5`, `x > 3` or `x < 1, x > 2`; `undefined` for any other text. */
export function intervalOf(text: string): string | undefined {
  const parts = text.split(",");
  if (parts.length > 1) {
    const intervals = parts.map((part) => singleInterval(part.trim()));
    return intervals.every((interval) => interval !== undefined) ? intervals.join("\\cup ") : undefined;
  }
  return singleInterval(text);
}

function singleInterval(text: string): string | undefined {
  const { sides, signs } = readInequality(text) ?? NONE;
  const at = sides.findIndex((side) => VARIABLE.test(side) && side !== "\\infty" && side !== "\\pi");
  const [first = "", second = ""] = signs;
  if (signs.includes("\\ne")) return undefined;
  if (at === 1 && sides.length === 3) {
    if ([first, second].every((sign) => TURNED[sign] === "<" || TURNED[sign] === "\\le")) {
      const turned = [second, first].map((sign) => TURNED[sign] ?? "");
      return singleInterval(`${sides[2]} ${turned[0]} ${sides[1]} ${turned[1]} ${sides[0]}`);
    }
    const [low = "", , high = ""] = sides;
    if ((first === "<" || first === "\\le") && (second === "<" || second === "\\le")) {
      return `${first === "<" ? "(" : "["}${low},${high}${second === "<" ? ")" : "]"}`;
    }
    return undefined;
  }
  if (sides.length !== 2 || at < 0) return undefined;
  const sign = at === 0 ? first : TURNED[first] ?? "";
  const bound = sides[1 - at] ?? "";
  if (sign === ">" || sign === "\\ge") return `${sign === ">" ? "(" : "["}${bound},\\infty )`;
  return `(-\\infty ,${bound}${sign === "<" ? ")" : "]"}`;
}

const DECIMAL = /^-?\d{0,20}\.(\d{5,20})$/;

/** Returns the number of decimals of a number that has at least five; 0 for any other text. */
export function countDecimals(text: string): number {
  return DECIMAL.exec(text.trim())?.[1]?.length ?? 0;
}
