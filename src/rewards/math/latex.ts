import { FUNCTIONS } from "./functions.ts";

type Replacement = readonly [pattern: RegExp, by: string];

/** Replacements, applied in this order. Each pattern is linear in the length of the text. */
const REPLACEMENTS: readonly Replacement[] = [
  [/\\\$|\$|€|£/g, " "],
  [/[×·⋅]|\\(?:cdot|times|ast)(?![a-zA-Z])/g, "*"],
  [/÷|\\div(?![a-zA-Z])/g, "/"],
  [/\\leq(?:slant)?(?![a-zA-Z])|≤|<=/g, "\\le "],
  [/\\geq(?:slant)?(?![a-zA-Z])|≥|>=/g, "\\ge "],
  [/\\neq(?![a-zA-Z])|≠|!=/g, "\\ne "],
  [/π/g, "\\pi "],
  [/∞/g, "\\infty "],
  [/√/g, "\\sqrt "],
  [/∪/g, "\\cup "],
  [/±/g, "\\pm "],
  [/\\(?:left|right|bigg?[lr]?|Bigg?[lr]?)(?![a-zA-Z])/g, ""],
  [/\\(?:displaystyle|textstyle|limits|checkmark|quad|qquad|hspace\{[^{}]{0,20}\})(?![a-zA-Z])/g, " "],
  [/(?<!\\)\\[()[\]]/g, " "],
  [/(?<!\\)\\!/g, ""],
  [/(?<!\\)\\[,;: ]|~/g, " "],
  [/(?<=\d)\s?\{\s?,\s?\}\s?(?=\d{3}(?!\d))/g, ""],
  [/(?<=\d)\s?\{\s?,\s?\}\s?(?=\d)/g, "."],
  [/\\[dtc]frac(?![a-zA-Z])/g, "\\frac"],
  [/\s{2,}/g, " "],
  [/\^\s?\{\s?\\circ\s?\}|\^\s?\\circ(?![a-zA-Z])|°|\\degree(?![a-zA-Z])/g, " "],
  [/\\frac\s?([0-9a-zA-Z])\s?([0-9a-zA-Z])/g, "\\frac{$1}{$2}"],
  [/\\frac\s?([0-9a-zA-Z])\s?\{/g, "\\frac{$1}{"],
  [/(?<![\w.^}\\)])(\d{1,30})\s?\\frac\{(\d{1,30})\}\{(\d{1,30})\}/g, "($1+\\frac{$2}{$3})"],
  [/(?<![\w.^}\\)])(\d{1,30}) (\d{1,30})\/(\d{1,30})(?![\d.])/g, "($1+$2/$3)"],
];
/** Whether a text has any of the rarer signs, which {@linkcode RARE_REPLACEMENTS} replace. */
const RARE =
  /\\(?:[lg]t|[lr]brace|[lr]vert|varnothing|[dt]binom|color|textcolor|underline|lg|(?:operatorname\s?\{\s?)?(?:arc)?c?tg)(?![a-z])|[∅⌊⌈]|\+\s?\\infty|,\\!/;
const RARE_REPLACEMENTS: readonly Replacement[] = [
  [/\\lt(?![a-zA-Z])/g, "<"],
  [/\\gt(?![a-zA-Z])/g, ">"],
  [/\\lbrace(?![a-zA-Z])/g, "\\{"],
  [/\\rbrace(?![a-zA-Z])/g, "\\}"],
  [/\\[lr]vert(?![a-zA-Z])/g, "|"],
  [/\\varnothing(?![a-zA-Z])|∅/g, "\\emptyset "],
  [/(^|[([,])\s?\+\s?(?=\\infty)/g, "$1"],
  [/\\[dt]binom(?![a-zA-Z])/g, "\\binom"],
  [/\\color\s?\{[a-zA-Z]{1,20}\}|\\textcolor\s?\{[a-zA-Z]{1,20}\}/g, ""],
  [/\\lg(?![a-zA-Z])/g, "\\log "],
  [/\\operatorname\s?\{\s?((?:arc)?c?tg)\s?\}/g, "\\$1 "],
  [/\\(arc)?tg(?![a-zA-Z])/g, "\\$1tan "],
  [/\\(arc)?ctg(?![a-zA-Z])/g, "\\$1cot "],
  [/\\underline\s?\{([^{}]{0,200})\}/g, "$1"],
  [/,\\!\s?/g, ","],
  [/⌊/g, "\\lfloor "],
  [/⌋/g, "\\rfloor "],
  [/⌈/g, "\\lceil "],
  [/⌉/g, "\\rceil "],
];
const REPEATING = /(\d{0,15})\.(\d{0,15})\\overline\s?\{(\d{1,15})\}/g;
/** The digits between two dots, or under a single dot, repeat: `0.1\dot{6}`, `0.\dot{1}4285\dot{7}`. */
const DOTTED = /(?<=\.\d{0,15})\\dot\s?\{?(\d)\}?(?:(\d{0,13})\\dot\s?\{?(\d)\}?)?/g;
/** A letter or function name in upright or bold type, which is replaced by itself. */
const TYPEFACE = /\\(?:mathrm|mathbf|mathit|operatorname)\s?\{\s?([a-zA-Z])\s?\}/g;
const FUNCTION = /\\(?:mathrm|operatorname|text|textrm)\s?\{\s?([a-z]{2,7})\s?\}/g;
const TEXT =
  /\\(?:text|mbox|mathrm|textbf|textit|textrm|mathbf|mathit)\s?\{([^{}]*)\}(?:\s?\^\s?(?:\{\d\}|\d))?/g;
/** An angle in degrees, where a function of angles is near. */
const ANGLE =
  /(?<!\d)(\d+(?:\.\d+)?)\s?(?:\^\s?\{\s?\\circ\s?\}|\^\s?\\circ(?![a-zA-Z])|°|\\degree(?![a-zA-Z]))/g;
const OF_ANGLES = /(?:sin|cos|tan|cot|sec|csc)(?![a-z])/;
/** `or 7`, which names another answer. The lookahead finds the first word of a line once, in linear time. */
const NUMBERED_ALTERNATIVE = /^(?=(.*?\b(?:or|and)\b))\1.*\d/im;
/** The halves of the day and the months are a part of a time, and no units. */
const OF_TIME =
  /^\s?(?:[ap]\.?\s?m\.?|January|February|March|April|May|June|July|August|September|October|November|December),?\s?$/i;
const CONJUNCTION = /^\s*(?:or|and|,)\s*$/i;
/** A number or expression with following words. */
const NUMBER_WITH_WORDS = /^(.*[\d})])(\s*)([a-zA-Z][a-zA-Z ./]*)(?:\^\{?\d\}?)?$/;
/** Units that could be read as products of letters. */
const SHORT_UNITS = new Set("cm mm km kg mg ml cl ft mi yd lb oz hr in sq cu min sec deg mph rad".split(" "));
/** A number with commas between thousands, alone or after `x =`. */
const THOUSANDS =
  /^(?:(?:[a-zA-Z](?:_\{?\w\}?)?\s?)?=\s?|\\approx\s?)?-?\s?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/;
/** Groups of three digits with spaces between them, the only spaces that a number can have. */
const GROUPS = /(?<![\w.,}])[1-9]\d{0,2}(?: \d{3})+(?![\d/])/g;

/**
 * Simplifies an answer in LaTeX or plain text: removes currency signs, degrees, bracket sizes and spacing,
 * and units and words around a number. `\frac12` becomes `\frac{1}{2}`, and `3\frac12` becomes a sum.
 */
export function cleanLatex(answer: string): string {
  const ended = answer.trim().replace(DOTTED, "\\overline{$1$2$3}").replace(REPEATING, fractionOfRepeating);
  const common = RARE.test(ended) ? replaceAllOf(RARE_REPLACEMENTS, ended) : ended;
  const angles = OF_ANGLES.test(common) ? common.replace(ANGLE, "($1*\\pi/180)") : common;
  const texts = replaceAllOf(REPLACEMENTS, angles).replace(TYPEFACE, "$1")
    .replace(FUNCTION, (whole, name: string) => isName(name) ? `\\${name} ` : whole);
  const plain = removeTexts(texts).replace(/\s+/g, " ").trim().replace(/(?<![.;:])[.;:]+$/, "").trim();
  const bare = removeUnit(plain).replace(GROUPS, (digits) => digits.replaceAll(" ", ""));
  return THOUSANDS.test(bare) ? bare.replaceAll(",", "") : bare;
}

function replaceAllOf(replacements: readonly Replacement[], text: string): string {
  return replacements.reduce((replaced, [pattern, by]) => replaced.replace(pattern, by), text);
}

/** Removes words, unless there is nothing else. `or` and `and` become separators. */
function removeTexts(text: string): string {
  const parted = text.replace(TEXT, (whole, words: string) => {
    if (CONJUNCTION.test(words)) return ",";
    if (OF_TIME.test(words)) return ` ${words} `;
    return NUMBERED_ALTERNATIVE.test(words) ? words.replace(/\b(?:or|and)\b/gi, ",") : whole;
  });
  const rest = parted.replace(TEXT, (whole, _words: string, at: number) => {
    const isFunction = /^\s?\(/.test(parted.slice(at + whole.length, at + whole.length + 2)) &&
      !/[\d})]\s?$/.test(parted.slice(Math.max(0, at - 2), at));
    return isFunction ? whole : " ";
  });
  return /[\p{L}\p{N}\\]/u.test(rest) ? rest : parted.replace(TEXT, "$1");
}

/**
 * Removes a unit: `5 cm^2` becomes 5. Letters directly after a number are variables unless they are a unit.
 */
function removeUnit(text: string): string {
  const [, number = "", space = "", suffix = ""] = NUMBER_WITH_WORDS.exec(text) ?? [];
  const words = suffix.toLowerCase().split(/[ ./]+/).filter((word) => word !== "");
  const isUnit = words.every((word) =>
    SHORT_UNITS.has(word) || (space !== "" && word.length > 2 && !isName(word))
  );
  return number !== "" && isUnit ? number.trim() : text;
}

/** Returns `0.1\overline{6}` as a fraction. */
function fractionOfRepeating(_: string, whole: string, once: string, again: string): string {
  const under = BigInt("9".repeat(again.length) + "0".repeat(once.length));
  const over = BigInt(`${whole}${once}${again}`) - BigInt(`${whole}${once}` || "0");
  return `(${over}/${under})`;
}

const TOKEN = /\d+(?:\.\d+)?|\.\d+|\\[a-zA-Z]+|[a-zA-Z]+|[-+*/^_!(){}[\]|]/y;
/** Names of functions and constants. */
const NAMES: ReadonlySet<string> = new Set([
  ...["pi", "sqrt", "frac", "binom", "log"],
  ...Object.keys(FUNCTIONS),
]);
/** Greek letters are variables. */
const GREEK =
  /^\\(?:alpha|beta|gamma|delta|epsilon|varepsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|varphi|omega)$/;
/** Longer runs of letters are words, not products. */
const [MAX_LETTERS, MAX_LETTERS_OF_PRODUCT] = [2, 4];
/** Distance of the letters of a product such as `abc` in the alphabet. Letters of a word are further apart. */
const MAX_SPREAD = 3;
const OPERATOR = /[\d^*]/;

/** Returns the tokens of an expression, with names without backslash; `null` if the expression contains anything else. */
export function tokensOf(text: string): string[] | null {
  const tokens: string[] = [];
  for (let at = 0; at < text.length;) {
    if (text[at] === " ") {
      at++;
      continue;
    }
    TOKEN.lastIndex = at;
    const [token = ""] = TOKEN.exec(text) ?? [];
    const parts = partsOf(token, OPERATOR.test(text));
    if (parts === null) return null;
    tokens.push(...parts);
    at += token.length;
  }
  return tokens;
}

/** Returns true if a token is the name of a function or constant. */
export function isName(token: string): boolean {
  return NAMES.has(token);
}

function partsOf(token: string, hasOperator: boolean): string[] | null {
  if (token === "") return null;
  if (!/^\\?[a-zA-Z]/.test(token)) return [token];
  const name = token.replace(/^\\/, "");
  if (NAMES.has(name)) return [name];
  if (/^[lr](?:floor|ceil)$/.test(name)) return [name];
  if (token.startsWith("\\")) return GREEK.test(token) ? [token] : null;
  if (token === "or" || token === "and" || token === "not") return null;
  const isProduct = token.length <= MAX_LETTERS ||
    (token.length <= MAX_LETTERS_OF_PRODUCT && (hasOperator || hasNearLetters(token)));
  return isProduct ? [...token] : null;
}

function hasNearLetters(token: string): boolean {
  const codes = [...token].map((letter) => letter.codePointAt(0) ?? 0);
  return Math.max(...codes) - Math.min(...codes) <= MAX_SPREAD;
}
