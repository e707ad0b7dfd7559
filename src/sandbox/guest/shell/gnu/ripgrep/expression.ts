import { UsageError } from "../command.ts";
import { compilePerlExpression } from "../regular_expression.ts";

/** Start and end of a match, and its groups. */
export interface RipgrepMatch {
  readonly start: number;
  readonly end: number;
  readonly groups: RegExpExecArray;
}

/** How the patterns of `rg` are read. */
export interface ExpressionOptions {
  readonly syntax: "rust" | "perl" | "fixed";
  readonly ignoreCase: boolean;
  readonly whole: "line" | "word" | undefined;
  /** Whether a match may have several lines. */
  readonly isMultiline: boolean;
  /** Whether `.` matches the end of a line. */
  readonly dotMatchesLineEnd: boolean;
}

/** Exit code of an error. */
export const TROUBLE = 2;

const META = /[\\^$.*+?()[\]{}|/]/gu;
/** Escapes of the same meaning in JavaScript, for texts of ASCII characters. */
const SAME_ESCAPES = "dDwWsSbBnrtfv";
/** Their sources for other texts, outside and inside of brackets. */
const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
const UNICODE_ESCAPES: Readonly<Record<string, string>> = {
  d: "\\p{Nd}",
  D: "\\P{Nd}",
  w: `[${WORD}]`,
  W: `[^${WORD}]`,
  s: "\\p{White_Space}",
  S: "\\P{White_Space}",
  b: `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`,
  B: `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`,
};
const SPECIAL_ESCAPES: Readonly<Record<string, string>> = { a: "\\x07", A: "(?<![^])", z: "(?![^])" };
const CLASSES: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7f",
  blank: "\\t ",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\t-\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

/** Compiles the patterns of `rg` for texts of ASCII characters and for others. */
export class RipgrepExpression {
  readonly #patterns: readonly string[];
  readonly #options: ExpressionOptions;
  #ascii: RegExp | undefined;
  #unicode: RegExp | undefined;

  /** Throws a {@linkcode UsageError} if a pattern is none, or has no equal in JavaScript. */
  constructor(patterns: readonly string[], options: ExpressionOptions) {
    this.#patterns = patterns;
    this.#options = options;
    this.#ascii = this.#compile(true);
  }

  /** Finds the leftmost match at or behind a position. */
  find(text: string, from: number): RipgrepMatch | undefined {
    const expression = this.#for(text);
    expression.lastIndex = from;
    const groups = expression.exec(text);
    return groups ? { start: groups.index, end: groups.index + groups[0].length, groups } : undefined;
  }

  /** Yields the matches of a text. An empty match does not follow another match directly. */
  *matches(text: string): Generator<RipgrepMatch> {
    let end = -1;
    for (let at = 0; at <= text.length;) {
      const match = this.find(text, at);
      if (!match) return;
      const isEmpty = match.end === match.start;
      if (!isEmpty || match.start !== end) yield match;
      end = match.end;
      at = isEmpty ? match.end + 1 : match.end;
    }
  }

  #for(text: string): RegExp {
    // deno-lint-ignore no-control-regex
    if (!/[^\x00-\x7f]/.test(text)) return this.#ascii ??= this.#compile(true);
    return this.#unicode ??= this.#compile(false);
  }

  #compile(isAscii: boolean): RegExp {
    const { syntax, ignoreCase, whole, isMultiline, dotMatchesLineEnd } = this.#options;
    if (syntax === "perl") {
      const [pattern = "", ...others] = this.#patterns;
      if (others.length > 0) throw refusal("several patterns with --pcre2 are");
      return compilePerlExpression(pattern, { ignoreCase, whole });
    }
    const sources = this.#patterns.map((pattern) =>
      syntax === "fixed"
        ? pattern.replace(META, "\\$&")
        : new RustPattern(pattern, { isAscii, isMultiline }).source()
    );
    const any = sources.length === 1 ? sources[0] ?? "" : sources.map((text) => `(?:${text})`).join("|");
    const word = isAscii ? "\\w" : `[${WORD}]`;
    const source = whole === "line"
      ? `^(?:${any})$`
      : whole === "word"
      ? `(?<!${word})(?:${any})(?!${word})`
      : any;
    const flags = `gmu${ignoreCase ? "i" : ""}${dotMatchesLineEnd ? "s" : ""}`;
    try {
      return new RegExp(source, flags);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw parseError(this.#patterns.join("|"), 0, "invalid expression");
    }
  }
}

/** Returns the error of something that this `rg` does not do. */
export function refusal(what: string): UsageError {
  return new UsageError(`${what} not available in the sandbox`, { exitCode: TROUBLE, hasHint: false });
}

function parseError(pattern: string, at: number, message: string): UsageError {
  const text = `regex parse error:\n    ${pattern}\n    ${" ".repeat(at)}^\nerror: ${message}`;
  return new UsageError(text, { exitCode: TROUBLE, hasHint: false });
}

interface PatternOptions {
  readonly isAscii: boolean;
  readonly isMultiline: boolean;
}

/** A pattern of Rust's crate `regex`, and its source in JavaScript with the flags `m` and `u`. */
class RustPattern {
  readonly #pattern: string;
  readonly #options: PatternOptions;
  #at = 0;

  constructor(pattern: string, options: PatternOptions) {
    this.#pattern = pattern;
    this.#options = options;
  }

  source(): string {
    let source = "";
    let depth = 0;
    let canRepeat = false;
    const flags = /^\(\?([ims]+)\)/.exec(this.#pattern);
    if (flags) {
      this.#at = flags[0].length;
      source = `(?${flags[1]}:`;
    }
    for (let sign; (sign = this.#take()) !== "";) {
      const start = this.#at - sign.length;
      if (sign === "(") {
        source += this.#openGroup(start);
        depth++;
        canRepeat = false;
      } else if (sign === ")") {
        if (--depth < 0) throw this.#error(start, "unopened group");
        source += sign;
        canRepeat = true;
      } else if ("*+?{".includes(sign)) {
        if (!canRepeat) throw this.#error(start, "repetition operator missing expression");
        source += this.#repetition(sign, start);
      } else {
        source += this.#item(sign, start);
        canRepeat = sign !== "|" && sign !== "^";
      }
    }
    if (depth > 0) throw this.#error(this.#pattern.length, "unclosed group");
    return flags ? `${source})` : source;
  }

  #item(sign: string, start: number): string {
    if (sign === "\\") return this.#escape(start, false);
    if (sign === "[") return this.#set(start);
    if (sign === "\n") this.#refuseLineEnd();
    return "}]/".includes(sign) ? `\\${sign}` : sign;
  }

  #take(): string {
    const code = this.#pattern.codePointAt(this.#at);
    if (code === undefined) return "";
    const sign = String.fromCodePoint(code);
    this.#at += sign.length;
    return sign;
  }

  #match(expression: RegExp): RegExpExecArray | null {
    const found = expression.exec(this.#pattern.slice(this.#at));
    if (found) this.#at += found[0].length;
    return found;
  }

  #error(at: number, message: string): UsageError {
    return parseError(this.#pattern, at, message);
  }

  #refuseLineEnd(): void {
    if (this.#options.isMultiline) return;
    throw new UsageError(
      "the literal '\"\\n\"' is not allowed in a regex\n\n" +
        "Consider enabling multiline mode with the --multiline flag (or -U for short).\n" +
        "When multiline mode is enabled, new line characters can be matched.",
      { exitCode: TROUBLE, hasHint: false },
    );
  }

  #openGroup(start: number): string {
    if (this.#match(/^\?(?:<?[=!])/)) {
      const message = "look-around, including look-ahead and look-behind, is not supported\n\n" +
        "Consider enabling PCRE2 with the --pcre2 flag, which can handle backreferences\nand look-around.";
      throw this.#error(start, message);
    }
    const name = this.#match(/^\?P?<([A-Za-z_]\w*)>/)?.[1];
    if (name !== undefined) return `(?<${name}>`;
    const group = this.#match(/^\?([ims]*(?:-[ims]+)?):/);
    if (group) return group[1] === "" ? "(?:" : `(?${group[1]}:`;
    if (this.#pattern[this.#at] === "?") throw refusal(`the group '${this.#pattern.slice(start)}' is`);
    return "(";
  }

  #repetition(sign: string, start: number): string {
    if (sign !== "{") return sign + (this.#match(/^\?/)?.[0] ?? "");
    const count = this.#match(/^(?:\d+(?:,\d*)?)\}\??/)?.[0];
    if (count === undefined) {
      throw this.#error(start, "repetition quantifier expects a valid decimal");
    }
    return `{${count}`;
  }

  #escape(start: number, isInSet: boolean): string {
    const letter = this.#take();
    if (letter === "") {
      throw this.#error(start, "incomplete escape sequence, reached end of pattern prematurely");
    }
    if (letter === "n") this.#refuseLineEnd();
    if (/[1-9]/.test(letter)) throw this.#error(start, "backreferences are not supported");
    if ("xuU".includes(letter)) return this.#codePoint(start, letter);
    if ("pP".includes(letter)) return this.#property(start, letter);
    if (SPECIAL_ESCAPES[letter] !== undefined && !(isInSet && letter !== "a")) {
      return SPECIAL_ESCAPES[letter] ?? "";
    }
    if (SAME_ESCAPES.includes(letter) && !(isInSet && "bB".includes(letter))) {
      if (this.#options.isAscii) return `\\${letter}`;
      const unicode = UNICODE_ESCAPES[letter] ?? `\\${letter}`;
      if (!isInSet) return unicode;
      if (letter === "W") throw refusal("\\W within brackets is");
      return letter === "w" ? WORD : unicode;
    }
    if (/[A-Za-z0-9]/.test(letter)) throw this.#error(start, "unrecognized escape sequence");
    return /[\\^$.*+?()[\]{}|/-]/.test(letter) ? isInSet || letter !== "-" ? `\\${letter}` : "-" : letter;
  }

  #codePoint(start: number, letter: string): string {
    const bare = letter === "x" ? /^[0-9a-fA-F]{2}/ : letter === "u" ? /^[0-9a-fA-F]{4}/ : /^[0-9a-fA-F]{8}/;
    const digits = this.#match(/^\{([0-9a-fA-F]+)\}/)?.[1] ?? this.#match(bare)?.[0];
    if (digits === undefined) throw this.#error(start, "invalid hexadecimal digit");
    if (Number.parseInt(digits, 16) === 0x0a) this.#refuseLineEnd();
    return `\\u{${digits}}`;
  }

  #property(start: number, letter: string): string {
    const [, not = "", name = ""] = this.#match(/^\{(\^?)([\w=: ]+)\}/) ?? ["", "", this.#take()];
    const sign = (letter === "P") === (not === "^") ? "p" : "P";
    for (const property of [name, `Script=${name}`, `General_Category=${name}`]) {
      try {
        return new RegExp(`\\${sign}{${property}}`, "u").source;
      } catch {
        // the next kind of property may have this name
      }
    }
    throw this.#error(start, "Unicode property not found");
  }

  /** Reads a set in brackets. */
  #set(start: number): string {
    let source = this.#match(/^\^/) ? "[^" : "[";
    if (this.#match(/^\]/)) source += "\\]";
    for (let sign; (sign = this.#take()) !== "]";) {
      if (sign === "") throw this.#error(start, "unclosed character class");
      if (this.#match(sign === "&" ? /^&/ : sign === "~" ? /^~/ : /^(?!)/)) {
        throw refusal("intersections of sets are");
      }
      if (sign === "\\") source += this.#escape(this.#at - 1, true);
      else if (sign === "[") {
        const [, not, name = ""] = this.#match(/^:(\^?)(\w+):\]/) ?? [];
        if (not === undefined) throw refusal("sets within sets are");
        if (CLASSES[name] === undefined || not) throw this.#error(this.#at, "unrecognized ASCII class");
        source += CLASSES[name];
      } else source += "/^".includes(sign) ? `\\${sign}` : sign;
    }
    return `${source}]`;
  }
}
