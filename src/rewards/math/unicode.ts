/** Whether a text has a character that {@linkcode foldUnicode} may replace. */
const BEYOND_ASCII = /\P{ASCII}/u;
/** `½`, `⅓` and other fractions in a single character, after the whole part of a mixed number. */
const VULGAR = /(\d\s?)?([¼-¾⅐-⅞↉])/g;
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁱⁿˣʸᵃᵇᶜᵈᵉᵏᵐᵖᵗ";
const RAISED = "0123456789+-=()inxyabcdekmpt";
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₖₘₙₚₜₓ";
const LOWERED = "0123456789+-=()aeijkmnptx";
const SUPERSCRIPT = new RegExp(`[${SUPERSCRIPTS}]+`, "g");
const SUBSCRIPT = new RegExp(`[${SUBSCRIPTS}]+`, "g");
/**
 * Characters that stand for an ordinary character: full-width forms (U+FF01 to U+FF5E), and letters and digits in the
 * typefaces of mathematics (U+1D400 to U+1D7FF). Other compatibility forms, such as `①` and `ℝ`, have another
 * meaning.
 */
const COMPATIBLE = /[\uff01-\uff5e\u{1d400}-\u{1d7ff}⁄]/gu;
const DIGIT = /(?!\p{ASCII})\p{Nd}/gu;
const SIGNS: readonly (readonly [pattern: RegExp, by: string])[] = [
  [/[\u200b-\u200d\u2060\ufeff\u00ad]/g, ""],
  [/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " "],
  [/[\u2010-\u2013\u2212\ufe63]/g, "-"],
  [/[∙∗]/g, "*"],
  [/[⩽≦]/g, "≤"],
  [/[⩾≧]/g, "≥"],
  [/∈/g, "\\in "],
  [/∩/g, "\\cap "],
  [/∛/g, "\\sqrt[3]"],
  [/∜/g, "\\sqrt[4]"],
  [/℃/g, "°C"],
  [/℉/g, "°F"],
  [/、/g, ", "],
  [/〈|⟨/g, "\\langle "],
  [/〉|⟩/g, "\\rangle "],
];
const GREEK: Readonly<Record<string, string>> = {
  α: "alpha",
  β: "beta",
  γ: "gamma",
  δ: "delta",
  ε: "epsilon",
  θ: "theta",
  λ: "lambda",
  μ: "mu",
  ν: "nu",
  ρ: "rho",
  σ: "sigma",
  τ: "tau",
  φ: "phi",
  ω: "omega",
};
const GREEK_LETTER = new RegExp(`[${Object.keys(GREEK).join("")}]`, "g");

/**
 * Replaces signs beyond ASCII by LaTeX's signs: `½` becomes `(1/2)`, `3½` the mixed number `3 1/2`, `x²` `x^{2}`,
 * `x₁` `x_{1}`, `１２` and `٤٢` ASCII digits, `α` `\alpha`. The compatibility forms (NFKC) of superscripts and
 * fractions would join them to the preceding digits, as `x2` and `31/2`.
 */
export function foldUnicode(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  const plain = SIGNS.reduce((replaced, [pattern, by]) => replaced.replace(pattern, by), text)
    .replace(VULGAR, replaceFraction)
    .replace(SUPERSCRIPT, (run) => `^{${mapLetters(run, SUPERSCRIPTS, RAISED)}}`)
    .replace(SUBSCRIPT, (run) => `_{${mapLetters(run, SUBSCRIPTS, LOWERED)}}`)
    .replace(COMPATIBLE, (letter) => letter === "⁄" ? "/" : letter.normalize("NFKC"));
  return plain.replace(GREEK_LETTER, (letter) => `\\${GREEK[letter] ?? letter} `).replace(DIGIT, asciiDigit);
}

/** Returns a fraction as `(1/2)`, or as ` 1/2` after a whole number. */
function replaceFraction(_: string, whole: string | undefined, sign: string): string {
  const fraction = sign.normalize("NFKC").replace("⁄", "/");
  return whole === undefined ? `(${fraction})` : `${whole.trim()} ${fraction}`;
}

function mapLetters(run: string, from: string, to: string): string {
  return Array.from(run, (letter) => to[from.indexOf(letter)] ?? letter).join("");
}

/** Returns the value of a decimal digit of any script. The ten digits of a script follow each other. */
function asciiDigit(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}
