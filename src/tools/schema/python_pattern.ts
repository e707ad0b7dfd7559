import { literal, OCTAL, RE_WORD, readClass, readEscape, REGEX_WORD } from "./pattern_class.ts";
import { PatternError, PatternScanner } from "./pattern_scanner.ts";

/**
 * Returns a pattern for `new RegExp(pattern, "u")` that matches what the pattern of a JSON Schema matches where the
 * schema was written: by Python's `re` (Python 3.14), by the `regex` crate of Rust, which pydantic uses by default
 * (pydantic 2.14), or by JavaScript. Where the three differ, the pattern matches what any of them matches:
 * `\d`, `\w`, `\s` and `\b` follow Unicode, and `.` excludes only a line feed. `$` matches at the end only.
 *
 * @throws {PatternError} if the pattern has what JavaScript cannot express: atomic groups, possessive quantifiers,
 * conditions, `\N{…}`, sets of sets.
 */
export function toJsPattern(pattern: string): string {
  if (pattern.length > MAX_LENGTH) {
    throw new PatternError(`Cannot translate pattern as it has more than ${MAX_LENGTH} characters`);
  }
  const translated = new PatternTranslator(pattern).translate();
  requireValid(translated);
  return translated;
}

/** Returns the pattern of a schema for JavaScript, or `undefined` if JavaScript cannot express the pattern. */
export function tryJsPattern(pattern: string): string | undefined {
  for (const translate of [toJsPattern, requireValid]) {
    try {
      return translate(pattern);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
    }
  }
  return undefined;
}

function requireValid(pattern: string): string {
  try {
    new RegExp(pattern, "u");
    return pattern;
  } catch (cause) {
    throw new PatternError("JavaScript refuses the pattern", { cause });
  }
}

const MAX_DEPTH = 200;
/** A class such as `\w` becomes much longer, and V8 takes 0.4 ms for each. */
const MAX_LENGTH = 4_096;
const QUANTIFIER = /\{(\d*)(,?)(\d*)\}/y;
const FLAGS = /\(\?([aiLmsuxU]*)(?:-([imsxuU]+))?([:)])/y;
const NAME = /\(\?P?<([^<>=!]+)>/y;

interface Flags {
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
  readonly x: boolean;
  readonly a: boolean;
}

class PatternTranslator {
  readonly #scanner: PatternScanner;
  readonly #names = new Map<string, number>();
  #groups = 0;
  #depth = 0;

  constructor(source: string) {
    this.#scanner = new PatternScanner(source);
  }

  translate(): string {
    const translated = this.#alternatives({ i: false, m: false, s: false, x: false, a: false });
    return this.#scanner.isAtEnd ? translated : this.#scanner.fail("an unmatched ')'");
  }

  /** Translates up to the `)` of the group or to the end. A flag such as `(?i)` holds up to there. */
  #alternatives(flags: Flags): string {
    if (++this.#depth > MAX_DEPTH) this.#scanner.fail("groups that are nested too deeply");
    const outer = flags.i;
    let current = flags;
    let translated = "";
    let isWrapped = false;
    while (!this.#scanner.isAtEnd && !this.#scanner.sees(")")) {
      if (this.#scanner.take("|")) {
        translated += isWrapped ? `)|${caseGroup(current.i)}` : "|";
        continue;
      }
      const set = this.#flagsHere(current);
      if (set === undefined) {
        translated += this.#term(current);
        continue;
      }
      if (isWrapped) translated += ")";
      isWrapped = set.i !== outer;
      if (isWrapped) translated += caseGroup(set.i);
      current = set;
    }
    this.#depth--;
    return isWrapped ? `${translated})` : translated;
  }

  /** Reads flags for the rest of a group, such as `(?i)`. */
  #flagsHere(flags: Flags): Flags | undefined {
    const start = this.#scanner.at;
    const match = this.#scanner.match(FLAGS);
    if (match === undefined) return undefined;
    if (match[3] === ")") return this.#withFlags(flags, match);
    this.#scanner.at = start;
    return undefined;
  }

  #withFlags(flags: Flags, [, on = "", off = ""]: RegExpExecArray): Flags {
    if (/[LU]/.test(on + off)) this.#scanner.fail("the flag 'L' or 'U'");
    const changed: Record<string, boolean> = { ...flags };
    for (const flag of on) changed[flag] = true;
    for (const flag of off) changed[flag] = false;
    return changed as unknown as Flags;
  }

  #term(flags: Flags): string {
    if (flags.x && this.#scanner.match(/\s+|#[^\n]*/y) !== undefined) return "";
    if (this.#scanner.match(/\(\?#[^)]*\)/y) !== undefined) return "";
    const atom = this.#atom(flags);
    const quantifier = this.#quantifier(flags);
    // JavaScript allows no quantifier directly after an assertion
    return quantifier !== "" && /^(?:[\^$]|\(\?<?[=!])/.test(atom)
      ? `(?:${atom})${quantifier}`
      : atom + quantifier;
  }

  #atom(flags: Flags): string {
    const character = this.#scanner.next();
    switch (character) {
      case "(":
        return this.#group(flags);
      case "[":
        return readClass(this.#scanner, flags.a);
      case "\\":
        return this.#escape(flags);
      case ".":
        return flags.s ? String.raw`[\s\S]` : String.raw`[^\n]`;
      case "^":
        return flags.m ? String.raw`(?<![^\n])` : "^";
      case "$":
        return flags.m ? String.raw`(?![^\n])` : "$";
      case "*":
      case "+":
      case "?":
        return this.#scanner.fail("a quantifier after nothing");
      default:
        return literal(character);
    }
  }

  #quantifier(flags: Flags): string {
    if (flags.x) this.#scanner.match(/\s+/y);
    const start = this.#scanner.at;
    const [, low = "", comma = "", high = ""] = this.#scanner.match(QUANTIFIER) ?? [];
    let quantifier = "";
    if (low + comma + high !== "") quantifier = `{${low || "0"}${comma}${high}}`;
    else {
      this.#scanner.at = start;
      quantifier = this.#scanner.match(/[*+?]/y)?.[0] ?? "";
      if (quantifier === "") return "";
    }
    if (this.#scanner.sees("+")) this.#scanner.fail("a possessive quantifier");
    return this.#scanner.take("?") ? `${quantifier}?` : quantifier;
  }

  /** Translates a group whose `(` has been read. */
  #group(flags: Flags): string {
    this.#scanner.at--;
    const back = this.#scanner.match(/\(\?P=([^)]+)\)/y);
    if (back !== undefined) return this.#backReference(this.#names.get(back[1] ?? "") ?? NaN);
    const flagged = this.#scanner.match(FLAGS);
    if (flagged !== undefined) {
      const inner = this.#withFlags(flags, flagged);
      const open = inner.i === flags.i ? "(?:" : caseGroup(inner.i);
      return open + this.#body(inner);
    }
    const look = this.#scanner.match(/\(\?(?:=|!|<=|<!)/y);
    if (look !== undefined) return look[0] + this.#body(flags);
    const name = this.#scanner.match(NAME)?.[1];
    if (name === undefined && this.#scanner.match(/\(\?/y) !== undefined) {
      this.#scanner.fail("an unknown kind of group");
    }
    if (name === undefined) this.#scanner.next();
    this.#groups++;
    if (name !== undefined) this.#names.set(name, this.#groups);
    return `(${this.#body(flags)}`;
  }

  /** Translates the rest of a group, with the `)`. */
  #body(flags: Flags): string {
    const body = this.#alternatives(flags);
    if (!this.#scanner.take(")")) this.#scanner.fail("an unmatched '('");
    return `${body})`;
  }

  /** Translates an escape outside of a class, whose backslash has been read. */
  #escape(flags: Flags): string {
    const start = this.#scanner.at;
    const letter = this.#scanner.next();
    const words = flags.a ? [String.raw`\w`] : [RE_WORD, REGEX_WORD];
    switch (letter) {
      case "A":
        return "^";
      case "Z":
      case "z":
        return "$";
      case "b":
        return this.#scanner.sees("{") ? this.#scanner.fail(String.raw`'\b{…}'`) : boundaries(words, true);
      case "B":
        return boundaries(words, false);
      case "k": {
        const name = this.#scanner.match(/<([^>]+)>/y)?.[1];
        return this.#backReference(this.#names.get(name ?? "") ?? NaN);
      }
    }
    this.#scanner.at = start;
    if (/[1-9]/.test(letter)) {
      const octal = this.#scanner.match(OCTAL);
      if (octal !== undefined) return literal(String.fromCodePoint(Number.parseInt(octal[0], 8)));
      return this.#backReference(Number(this.#scanner.match(/\d\d?/y)?.[0]));
    }
    return readEscape(this.#scanner, flags.a);
  }

  #backReference(group: number): string {
    return group >= 1 && group <= this.#groups
      ? `(?:\\${group})`
      : this.#scanner.fail("a reference to no group");
  }
}

function caseGroup(ignoresCase: boolean): string {
  return ignoresCase ? "(?i:" : "(?-i:";
}

/** Returns a boundary of words, or the opposite, by any of the classes of word characters. */
function boundaries(words: readonly string[], isBoundary: boolean): string {
  const [at, off] = isBoundary ? ["!", "="] : ["=", "!"];
  const each = words.map((word) => `(?<=${word})(?${at}${word})|(?<!${word})(?${off}${word})`);
  return `(?:${each.join("|")})`;
}
