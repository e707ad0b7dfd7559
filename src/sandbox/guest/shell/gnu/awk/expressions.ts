import { UsageError } from "../command.ts";
import { findMatch } from "../regular_expression.ts";

/** Character classes, as the inside of a class of JavaScript. */
const CLASSES: Readonly<Record<string, string>> = {
  alnum: "\\p{L}\\p{N}",
  alpha: "\\p{L}",
  blank: " \\t",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  graph: "\\x21-\\x7e\\u{a1}-\\u{10ffff}",
  lower: "\\p{Ll}",
  print: "\\x20-\\x7e\\u{a0}-\\u{10ffff}",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: " \\t-\\r",
  upper: "\\p{Lu}",
  xdigit: "0-9A-Fa-f",
};
/** Escapes with a meaning of their own, in awk's expressions. */
const OPERATORS: Readonly<Record<string, string>> = {
  y: "\\b",
  B: "\\B",
  "<": "\\b(?=\\w)",
  ">": "\\b(?<=\\w)",
  "`": "(?<![^])",
  "'": "(?![^])",
  s: "[ \\t-\\r]",
  S: "[^ \\t-\\r]",
  w: "\\w",
  W: "\\W",
};
const CONTROLS: Readonly<Record<string, string>> = {
  a: "\\x07",
  b: "\\x08",
  f: "\\f",
  n: "\\n",
  r: "\\r",
  t: "\\t",
  v: "\\v",
};
const ESCAPE = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|([^]))/uy;
const INTERVAL = /\{(\d*)(,?)(\d*)\}/y;
const CLASS = /\[:(\w+):\]/y;
const EQUIVALENCE = /\[([.=])([^]+?)\1\]/uy;

/** Expressions of an awk program, which are compiled once. */
export class Expressions {
  readonly #compiled = new Map<string, RegExp>();

  /** Compiles a regular expression for {@linkcode findMatch}. */
  compile(source: string, ignoreCase: boolean): RegExp {
    const key = `${ignoreCase ? "i" : "c"}${source}`;
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      if (this.#compiled.size >= MAX_COMPILED) this.#compiled.clear();
      this.#compiled.set(key, compiled = toExpression(source, ignoreCase));
    }
    return compiled;
  }
}

const MAX_COMPILED = 500;

function toExpression(source: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(new Translator(source).translate(), ignoreCase ? "giu" : "gu");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return failExpression(source);
  }
}

function failExpression(source: string, reason = "Invalid regular expression"): never {
  throw new UsageError(`fatal: invalid regexp: ${reason}: /${source}/`, { exitCode: 2, hasHint: false });
}

/** Translates an extended expression of POSIX, in which awk's escapes also work in brackets. */
class Translator {
  readonly #source: string;
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  translate(): string {
    let result = "";
    /** True where an item must begin, so that `*` is itself. */
    let isStart = true;
    let isRepeated = false;
    while (this.#at < this.#source.length) {
      const [wasStart, wasRepeated] = [isStart, isRepeated];
      isStart = isRepeated = false;
      const sign = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0);
      if (sign === "\\") {
        result += this.#escape();
        continue;
      }
      if (sign === "[") {
        result += this.#bracket();
        continue;
      }
      const interval = sign === "{" && !wasStart ? this.#take(INTERVAL) : undefined;
      if (interval && interval[0] !== "{}" && interval[0] !== "{,}") {
        const [, least = "", comma = "", most = ""] = interval;
        if (!wasRepeated) result += `{${least || "0"}${comma}${most}}`;
        isRepeated = true;
        continue;
      }
      this.#at += sign.length;
      if (sign === "(" || sign === "|") {
        if (sign === "(") this.#depth++;
        result += sign;
        isStart = true;
      } else if (sign === ")") {
        if (--this.#depth < 0) failExpression(this.#source, "Unmatched ) or \\)");
        result += sign;
      } else if ("*+?".includes(sign) && wasStart) result += `\\${sign}`;
      else if ("*+?".includes(sign)) {
        if (!wasRepeated) result += sign;
        isRepeated = true;
      } else if (sign === ".") result += "[^]";
      else if (sign === "^" || sign === "$") {
        result += sign;
        isStart = sign === "^";
      } else result += /[{}\]\/]/.test(sign) ? `\\${sign}` : sign;
    }
    if (this.#depth > 0) failExpression(this.#source, "Unmatched ( or \\(");
    return result;
  }

  #take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#source) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }

  #escape(): string {
    const found = this.#take(ESCAPE);
    if (!found) return failExpression(this.#source, "Trailing backslash");
    const [, octal, hex, sign = ""] = found;
    if (octal !== undefined) return codeSource(parseInt(octal, 8));
    if (hex !== undefined) return codeSource(parseInt(hex, 16));
    return OPERATORS[sign] ?? (sign === "b" ? undefined : CONTROLS[sign]) ?? quote(sign);
  }

  #bracket(): string {
    this.#at++;
    const isNegated = this.#source.charAt(this.#at) === "^";
    if (isNegated) this.#at++;
    let result = "";
    for (let isFirst = true;; isFirst = false) {
      const sign = this.#source.charAt(this.#at);
      if (sign === "") failExpression(this.#source, "Unmatched [, [^, [:, [., or [=");
      if (sign === "]" && !isFirst) {
        this.#at++;
        return result === "" ? "(?!)" : `[${isNegated ? "^" : ""}${result}]`;
      }
      const name = this.#take(CLASS)?.[1];
      if (name !== undefined) {
        result += CLASSES[name] ?? failExpression(this.#source, "Invalid character class name");
        continue;
      }
      const from = this.#member();
      const isRange = this.#source.charAt(this.#at) === "-" && this.#source.charAt(this.#at + 1) !== "]" &&
        this.#at + 1 < this.#source.length;
      if (!isRange) {
        result += from;
        continue;
      }
      this.#at++;
      result += `${from}-${this.#member()}`;
    }
  }

  /** Reads a character of a bracket. */
  #member(): string {
    const equivalence = this.#take(EQUIVALENCE)?.[2];
    if (equivalence !== undefined) return quoteMember(equivalence);
    if (this.#source.charAt(this.#at) === "\\") {
      const [, octal, hex, sign = ""] = this.#take(ESCAPE) ?? [];
      if (octal !== undefined) return codeSource(parseInt(octal, 8));
      if (hex !== undefined) return codeSource(parseInt(hex, 16));
      return CONTROLS[sign] ?? quoteMember(sign);
    }
    const sign = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0);
    this.#at += sign.length;
    return quoteMember(sign);
  }
}

function codeSource(code: number): string {
  return `\\x${(code & 255).toString(16).padStart(2, "0")}`;
}

function quote(sign: string): string {
  return /[\\^$.*+?()[\]{}|\/]/.test(sign) ? `\\${sign}` : sign;
}

function quoteMember(sign: string): string {
  return sign === "-" ? "\\-" : quote(sign);
}

/**
 * Yields the matches of an expression in a text, from left to right. An empty match behind another match does not
 * count.
 */
export function* matchesOf(expression: RegExp, text: string): Generator<RegExpExecArray> {
  let end = -1;
  for (let from = 0; from <= text.length;) {
    const match = findMatch(expression, text, from);
    if (!match) return;
    const [found] = match;
    if (found !== "" || match.index !== end) yield match;
    end = match.index + found.length;
    from = found === "" ? end + ((text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1) : end;
  }
}
