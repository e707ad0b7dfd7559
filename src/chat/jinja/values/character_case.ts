import { charsOf } from "./text.ts";

/** Characters whose form at the start of a word is neither their capital nor the character itself. */
const TITLE: Readonly<Record<string, string>> = { "ŉ": "ʼN" };
for (const [first, ...others] of ["ǅǄǆ", "ǈǇǉ", "ǋǊǌ", "ǲǱǳ"].map((group) => [...group])) {
  for (const char of [first, ...others]) Object.assign(TITLE, { [char as string]: first });
}

/** Returns the form of a character at the start of a word. */
export function titleChar(char: string): string {
  const known = TITLE[char];
  if (known !== undefined) return known;
  const [first = "", ...rest] = char.toUpperCase();
  if (rest.length === 0) return first;
  const code = char.codePointAt(0) ?? 0;
  if (code >= 0x1f80 && code <= 0x1faf) return String.fromCodePoint(code | 8); // with iota below
  const withIota: Readonly<Record<number, string>> = { 0x1fb3: "\u1fbc", 0x1fc3: "\u1fcc", 0x1ff3: "\u1ffc" };
  if (/\p{Lt}/u.test(char)) return char;
  return withIota[code] ?? first + rest.join("").toLowerCase();
}

export function capitalize(text: string): string {
  const [first, ...rest] = charsOf(text);
  return first === undefined ? "" : titleChar(first) + lowerRest(first, rest.join(""));
}

/** Lowers what follows a character, so that a sigma at the end of a word is known as such. */
function lowerRest(before: string, text: string): string {
  return (before + text).toLowerCase().slice(before.toLowerCase().length);
}

const LETTER_RUN = /[\p{Lu}\p{Ll}\p{Lt}ªºʰ-ʸˀˁˠ-ˤͺᴬ-ᵪᵸᶛ-ᶿⁱⁿₐ-ₜⅠ-ⅿↀ-ↄⓐ-ⓩⒶ-Ⓩ]+/gu;

/** Returns a text with each word in lower case after a capital, as `str.title`. */
export function titleWords(text: string): string {
  return text.replace(LETTER_RUN, (word) => {
    const [first = "", ...rest] = charsOf(word);
    return titleChar(first) + lowerRest(first, rest.join(""));
  });
}

export function swapCase(text: string): string {
  // a capital sigma at the end of a word has another lower-case letter, which only the whole text shows
  const sigmas = (text.toLowerCase().match(/[σς]/g) ?? []).values();
  return charsOf(text).map((char) => {
    const upper = char.toUpperCase();
    const sigma = upper === "Σ" ? sigmas.next().value : undefined;
    if (char === "Σ" && sigma !== undefined) return sigma;
    return isUpperChar(char) ? char.toLowerCase() : isLowerChar(char) ? upper : char;
  }).join("");
}

/** Approximates `str.casefold`: exact for the characters that fold to one or more lower-case letters. */
export function foldCase(text: string): string {
  return charsOf(text).map((char) => {
    if (char === "ẞ" || char === "ß") return "ss";
    if (/[Ꭰ-Ᏽ]/.test(char)) return char; // Cherokee folds to capitals
    return char.toUpperCase().toLowerCase();
  }).join("").replaceAll("ς", "σ");
}

const UPPER =
  /^[\p{Lu}\u2160-\u216f\u24b6-\u24cf\u{1f130}-\u{1f149}\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]$/u;
const LOWER = /^[\p{Ll}ªºʰ-ʸˀˁˠ-ˤͅͺᴬ-ᵪᵸᶛ-ᶿⁱⁿₐ-ₜⅰ-ⅿⓐ-ⓩⱼⱽꚜꚝꝰꟸꟹꭜ-ꭟ]$/u;

function isUpperChar(char: string): boolean {
  return UPPER.test(char);
}

function isLowerChar(char: string): boolean {
  return LOWER.test(char);
}

/** Returns whether a text has cased characters, and all of them are of this case. */
export function hasCase(text: string, wanted: "upper" | "lower"): boolean {
  let isFound = false;
  for (const char of charsOf(text)) {
    const [is, other] = wanted === "upper" ? [isUpperChar, isLowerChar] : [isLowerChar, isUpperChar];
    if (other(char) || /\p{Lt}/u.test(char)) return false;
    isFound ||= is(char);
  }
  return isFound;
}

/** Returns whether each word of a text begins with a capital and goes on in lower case. */
export function isTitle(text: string): boolean {
  let isFound = false;
  let isAfterCased = false;
  for (const char of charsOf(text)) {
    const isUpper = isUpperChar(char) || /\p{Lt}/u.test(char);
    if (isUpper ? isAfterCased : isLowerChar(char) && !isAfterCased) return false;
    isAfterCased = isUpper || isLowerChar(char);
    isFound ||= isAfterCased;
  }
  return isFound;
}
