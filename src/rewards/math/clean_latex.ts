type Replacement = readonly [pattern: RegExp, by: string];

/** Taken away or made plain, in this order. Each pattern reads a text once, however hostile it is. */
const REPLACEMENTS: readonly Replacement[] = [
  [/\\\$|\$|€|£/g, ""],
  [/[\u2212\u2013]/g, "-"],
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
  [/\\(?:displaystyle|textstyle|limits|quad|qquad|hspace\{[^{}]{0,20}\})(?![a-zA-Z])/g, " "],
  [/\\[()]|\\\[|\\\](?!\d)/g, " "],
  [/(?<!\\)\\[!,;: ]|~/g, ""],
  [/\{,\}/g, ""],
  [/\\[dtc]frac(?![a-zA-Z])/g, "\\frac"],
  [/\^\s?\{\s?\\circ\s?\}|\^\s?\\circ(?![a-zA-Z])|°|\\degree(?![a-zA-Z])/g, ""],
  [/\\frac\s?([0-9a-zA-Z])\s?([0-9a-zA-Z])/g, "\\frac{$1}{$2}"],
  [/\\frac\s?([0-9a-zA-Z])\s?\{/g, "\\frac{$1}{"],
  [/(?<![\w.^}\\)])(\d{1,30})\s?\\frac\{(\d{1,30})\}\{(\d{1,30})\}/g, "($1+\\frac{$2}{$3})"],
  [/(?<![\w.^}\\)])(\d{1,30}) (\d{1,30})\/(\d{1,30})(?![\d.])/g, "($1+$2/$3)"],
];
const REPEATING = /(\d{0,15})\.(\d{0,15})\\overline\s?\{(\d{1,15})\}/g;
const TEXT =
  /\\(?:text|mbox|mathrm|textbf|textit|textrm|mathbf|mathit|operatorname)\s?\{([^{}]*)\}(?:\s?\^\s?(?:\{\d\}|\d))?/g;
const CONJUNCTION = /^\s*(?:or|and|,)\s*$/i;
/** Words behind a number are its unit; a letter alone is a variable. */
const UNIT =
  /^(-?[\d.,/\\{}\s]*\d[\d.,/\\{}]*|.*\})\s*(?!pi\b|sqrt\b)([a-zA-Z]{2,20}(?:[ ./]+[a-zA-Z]{1,20}){0,4}\.?)(?:\^\{?\d\}?)?$/;
const THOUSANDS = /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;

/**
 * An answer in LaTeX or plain text as a plainer one: without signs of money and degrees, sizes of brackets and
 * spaces, units and words around a number; `\frac12` becomes `\frac{1}{2}` and `3\frac12` a sum.
 */
export function cleanLatex(answer: string): string {
  const ended = answer.trim().replace(REPEATING, repeatingDecimal);
  const texts = REPLACEMENTS.reduce((text, [pattern, by]) => text.replace(pattern, by), ended);
  const plain = withoutTexts(texts).replace(/\s+/g, " ").trim().replace(/[.;:]+$/, "").trim();
  const bare = UNIT.exec(plain)?.[1]?.trim() ?? plain;
  return THOUSANDS.test(bare) ? bare.replaceAll(",", "") : bare;
}

/** Words stand for themselves when there is nothing else; `or` and `and` part what they stand between. */
function withoutTexts(text: string): string {
  const parted = text.replace(TEXT, (whole, words: string) => CONJUNCTION.test(words) ? "," : whole);
  const rest = parted.replace(TEXT, " ");
  return /[\p{L}\p{N}\\]/u.test(rest) ? rest : parted.replace(TEXT, "$1");
}

/** `0.1\overline{6}` as a fraction. */
function repeatingDecimal(_: string, whole: string, once: string, again: string): string {
  const under = BigInt("9".repeat(again.length) + "0".repeat(once.length));
  const over = BigInt(`${whole}${once}${again}`) - BigInt(`${whole}${once}` || "0");
  return `(${over}/${under})`;
}
