import { PatternError, type PatternScanner } from "./pattern_scanner.ts";

/** Characters of words by Python's `re`. */
export const RE_WORD: string = String.raw`[\p{L}\p{N}_]`;
/** Characters of words by Rust's `regex`. */
export const REGEX_WORD: string = String.raw`[\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u200c\u200d]`;
/** Characters of words by any of them. */
const WORD = String.raw`\p{L}\p{M}\p{N}\p{Pc}\u200c\u200d`;
/** A class of characters that are of no word by any of them. */
const NON_WORD = String.raw`[^\p{L}\p{Nd}\p{Nl}_]`;
/** White space of Unicode. */
const UNICODE_SPACE = String.raw`\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;
/** White space of Unicode, and what Python adds to that: four separators. */
const SPACE = String.raw`${UNICODE_SPACE}\x1c-\x1f`;

const CONTROLS: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };
const HEX = "([\\da-fA-F]+)";
const CHARACTER = new RegExp(
  String.raw`x\{${HEX}\}|x([\da-fA-F]{2})|[uU]\{${HEX}\}|u([\da-fA-F]{4})|U([\da-fA-F]{8})`,
  "y",
);
/** A character by the number in octal. */
export const OCTAL: RegExp = /0[0-7]{0,2}|[1-3][0-7]{2}/y;
const PROPERTY = /([pP])(?:\{(\^?)([^{}]+)\}|(\p{L}))/uy;

/** An item of a class in brackets. */
interface ClassItem {
  /** Source for a class of JavaScript; empty for `\W` and `\S`. */
  readonly source: string;
  /** Code point of a single character, which can begin or end a range. */
  readonly code?: number | undefined;
  /** For `\W` and `\S`, which are complements: the classes of what they match and of what they do not match. */
  readonly complement?: readonly [matching: string, other: string];
}

/** Translates an escape outside of brackets that a class can have as well, whose backslash has been read. */
export function readEscape(scanner: PatternScanner, isAscii: boolean): string {
  const { source, code, complement } = readClassEscape(scanner, isAscii);
  if (code !== undefined) return literal(String.fromCodePoint(code));
  return complement?.[0] ?? `[${source}]`;
}

/** Translates a class whose `[` has been read. */
export function readClass(scanner: PatternScanner, isAscii: boolean): string {
  const isNegated = scanner.take("^");
  const items: ClassItem[] = [];
  const start = scanner.at;
  while (scanner.at === start || !scanner.sees("]")) {
    if (scanner.isAtEnd) scanner.fail("an unmatched '['");
    items.push(readRange(scanner, isAscii));
  }
  scanner.next();
  const rest = items.map(({ source }) => source).join("");
  const complements = items.flatMap(({ complement }) => complement === undefined ? [] : [complement]);
  if (complements.length === 0) return `[${isNegated ? "^" : ""}${rest}]`;
  if (!isNegated) {
    return `(?:${
      [...complements.map(([matching]) => matching), ...(rest === "" ? [] : [`[${rest}]`])].join("|")
    })`;
  }
  const others = complements.map(([, other]) => `(?=${other})`);
  return `(?:${others.join("")}${rest === "" ? "" : `(?![${rest}])`}[\\s\\S])`;
}

function readRange(scanner: PatternScanner, isAscii: boolean): ClassItem {
  const from = readItem(scanner, isAscii);
  const start = scanner.at;
  if (from.code === undefined || !scanner.take("-") || scanner.sees("]")) {
    scanner.at = start;
    return from;
  }
  const to = readItem(scanner, isAscii);
  // a hyphen before a class of characters stands for itself
  if (to.code === undefined) return { ...to, source: `${from.source}\\-${to.source}` };
  if (to.code < from.code) scanner.fail("a range whose end precedes its start");
  return { source: `${from.source}-${to.source}` };
}

function readItem(scanner: PatternScanner, isAscii: boolean): ClassItem {
  if (scanner.match(/\[[:=.]|&&|~~|--(?!\])/y) !== undefined) scanner.fail("a set of sets");
  const character = scanner.next();
  return character === "\\" ? readClassEscape(scanner, isAscii) : single(character.codePointAt(0));
}

function readClassEscape(scanner: PatternScanner, isAscii: boolean): ClassItem {
  const property = scanner.match(PROPERTY);
  if (property !== undefined) return { source: toProperty(scanner, property) };
  const digits = scanner.match(CHARACTER);
  if (digits !== undefined) return single(Number.parseInt(digits.slice(1).find((it) => it) ?? "", 16));
  const octal = scanner.match(OCTAL);
  if (octal !== undefined) return single(Number.parseInt(octal[0], 8));
  const letter = scanner.next();
  if (Object.hasOwn(CONTROLS, letter)) return single(CONTROLS[letter]);
  const space = isAscii ? String.raw`\t-\r ` : SPACE;
  switch (letter) {
    case "d":
      return { source: isAscii ? "0-9" : String.raw`\p{Nd}` };
    case "D":
      return { source: isAscii ? String.raw`\D` : String.raw`\P{Nd}` };
    case "w":
      return { source: isAscii ? String.raw`\w` : WORD };
    case "W":
      return isAscii ? { source: String.raw`\W` } : { source: "", complement: [NON_WORD, `[${WORD}]`] };
    case "s":
      return { source: space };
    case "S":
      return { source: "", complement: [`[^${isAscii ? space : UNICODE_SPACE}]`, `[${space}]`] };
  }
  return /[a-z\d]/i.test(letter) ? scanner.fail(`the escape '\\${letter}'`) : single(letter.codePointAt(0));
}

function single(code = 0): ClassItem {
  if (code > 0x10ffff) {
    throw new PatternError("Cannot translate pattern as it has a character beyond U+10FFFF");
  }
  const character = String.fromCodePoint(code);
  return { source: /[\^\\\]\[-]/.test(character) ? `\\${character}` : character, code };
}

function toProperty(
  scanner: PatternScanner,
  [, letter = "", not = "", name = "", short = ""]: RegExpExecArray,
): string {
  const isNegated = (letter === "P") !== (not === "^");
  for (const property of [name || short, `Script=${name}`]) {
    const source = `\\${isNegated ? "P" : "p"}{${property}}`;
    try {
      new RegExp(source, "u");
      return source;
    } catch {
      // the name may be a script, which JavaScript writes with the kind
    }
  }
  return scanner.fail(`the property '${name || short}'`);
}

/** Returns the source of a character outside of brackets. */
export function literal(character: string): string {
  return /[\^$\\.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
}
