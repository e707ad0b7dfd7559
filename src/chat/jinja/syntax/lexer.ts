// deno-lint-ignore-file no-control-regex
import { TemplateSyntaxError } from "../jinja_errors.ts";
import { type Float, Float as PyFloat, type Value } from "../values/values.ts";

/** A token of a template. Operators and brackets are types of their own, such as `==`. */
export interface Token {
  readonly type: string;
  /** Text of a name or of data; value of a string or number. */
  readonly value: Value;
  /** Position in the source after all line ends were made `\n`. */
  readonly at: number;
}

// Blanks are the blanks of Python's `str`: U+001C to U+001F are blanks, and U+FEFF is not.
const LINE_END = /\r\n|\r|\n/g;
const TAG = /\{[%{#][-+]?/g;
const RAW =
  /\{%[\-+]?[[\s\x1c-\x1f\x85]--[\ufeff]]*raw[[\s\x1c-\x1f\x85]--[\ufeff]]*(?:-%\}[[\s\x1c-\x1f\x85]--[\ufeff]]*|%\})/vy;
const END_RAW =
  /\{%([\-+]?)[[\s\x1c-\x1f\x85]--[\ufeff]]*endraw[[\s\x1c-\x1f\x85]--[\ufeff]]*(?:\+%\}|-%\}[[\s\x1c-\x1f\x85]--[\ufeff]]*|%\}\n?)/gv;
const END_COMMENT = /\+#\}|-#\}[[\s\x1c-\x1f\x85]--[\ufeff]]*|#\}\n?/gv;
const END_BLOCK = /\+%\}|-%\}[[\s\x1c-\x1f\x85]--[\ufeff]]*|%\}\n?/vy;
const END_PRINT = /-\}\}[[\s\x1c-\x1f\x85]--[\ufeff]]*|\}\}/vy;
const BLANK = /^[[\s\x1c-\x1f\x85]--[\ufeff]]+$/v;
const SPACE = /[[\s\x1c-\x1f\x85]--[\ufeff]]+/vy;
const FLOAT = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy;
const INTEGER = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy;
// V8 takes a millisecond to compile the patterns of all letters, which few templates need.
const ASCII_NAME = /[A-Za-z_]\w*(?![\w\x80-\uffff])/y;
const NAME = /[\p{L}\p{N}_]+/uy;
const IDENTIFIER = /^[\p{XID_Start}_]\p{XID_Continue}*$/u;
const STRING = /'[^'\\]*(?:\\[^][^'\\]*)*'|"[^"\\]*(?:\\[^][^"\\]*)*"/y;
const OPERATOR = /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}<>=.:|,;]/y;

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Returns the source in Jinja2's form: every line ends in `\n`, and a line end at the end of the source is removed.
 */
export function normalizeSource(source: string): string {
  const text = source.replace(LINE_END, "\n");
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}

/** Returns line and column of a position, both from 1. */
export function positionOf(source: string, at: number): { line: number; column: number } {
  const before = source.slice(0, at);
  return { line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
}

/**
 * Splits a template into tokens, with `trim_blocks` and `lstrip_blocks` as transformers sets them: the line end after a
 * block is removed, and so are blanks before a block that begins a line.
 *
 * @throws {TemplateSyntaxError} if a tag, string or bracket does not end, or a character has no meaning.
 */
export function tokenize(source: string): Token[] {
  return new Lexer(source).run();
}

class Lexer {
  readonly #tokens: Token[] = [];
  #at = 0;
  /** True at the start of the source, and after a token that ends with a line end. */
  #startsLine = true;

  constructor(readonly source: string) {}

  run(): Token[] {
    while (this.#at < this.source.length) this.#readData();
    this.#tokens.push({ type: "eof", value: "", at: this.source.length });
    return this.#tokens;
  }

  /** Reads text up to the next tag, and that tag. */
  #readData(): void {
    TAG.lastIndex = this.#at;
    const tag = TAG.exec(this.source);
    if (tag === null) {
      this.#pushData(this.source.slice(this.#at));
      this.#at = this.source.length;
      return;
    }
    const [text] = tag;
    const sign = text[2] ?? "";
    this.#pushData(
      this.#stripBefore(this.source.slice(this.#at, tag.index), text[1] === "{" ? `${sign}{` : sign),
    );
    RAW.lastIndex = tag.index;
    const raw = RAW.exec(this.source);
    this.#moveTo(tag.index + (raw ?? tag)[0].length);
    if (raw !== null) this.#readRaw(tag.index);
    else if (text[1] === "#") this.#readComment(tag.index);
    else this.#readTag(text[1] === "%" ? "block" : "print", tag.index);
  }

  /** Strips blanks before a tag. The sign is the tag's sign, with `{` added for a print tag. */
  #stripBefore(text: string, sign: string): string {
    if (sign.startsWith("-")) return stripEnd(text);
    if (sign !== "") return text;
    const line = text.lastIndexOf("\n") + 1;
    const isBlank = (line > 0 || this.#startsLine) && BLANK.test(text.slice(line));
    return isBlank ? text.slice(0, line) : text;
  }

  #readRaw(start: number): void {
    END_RAW.lastIndex = this.#at;
    const end = END_RAW.exec(this.source);
    if (end === null) this.#fail("the tag 'raw' must end with 'endraw'", start);
    this.#pushData(this.#stripBefore(this.source.slice(this.#at, end.index), end[1] ?? ""));
    this.#moveTo(end.index + end[0].length);
  }

  #readComment(start: number): void {
    END_COMMENT.lastIndex = this.#at;
    const end = END_COMMENT.exec(this.source);
    if (end === null) this.#fail("a comment must end with '#}'", start);
    this.#moveTo(end.index + end[0].length);
  }

  #readTag(kind: "block" | "print", start: number): void {
    this.#push(`${kind}_begin`, "", start);
    const end = kind === "block" ? END_BLOCK : END_PRINT;
    const open: string[] = [];
    while (true) {
      const at = this.#at;
      if (open.length === 0 && this.#match(end) !== undefined) return this.#push(`${kind}_end`, "", at);
      if (this.#at >= this.source.length) {
        this.#fail(`a tag must end with '${kind === "block" ? "%}" : "}}"}'`, start);
      }
      this.#readToken(open);
    }
  }

  #readToken(open: string[]): void {
    const at = this.#at;
    if (this.#match(SPACE) !== undefined) return;
    const float = this.#match(FLOAT);
    if (float !== undefined) {
      return this.#push("float", new PyFloat(Number(float.replaceAll("_", ""))) as Float, at);
    }
    const integer = this.#match(INTEGER);
    if (integer !== undefined) return this.#push("integer", integerOf(integer.replaceAll("_", "")), at);
    const ascii = this.#match(ASCII_NAME);
    if (ascii !== undefined) return this.#push("name", ascii, at);
    const string = this.#match(STRING);
    if (string !== undefined) return this.#push("string", this.#unescape(string.slice(1, -1), at), at);
    const operator = this.#match(OPERATOR);
    if (operator === undefined) return this.#readName();
    if (CLOSING[operator] !== undefined) open.push(CLOSING[operator]);
    else if (")]}".includes(operator) && open.pop() !== operator) {
      this.#fail(`'${operator}' closes no bracket`, at);
    }
    this.#push(operator, operator, at);
  }

  /** Reads a name with letters beyond ASCII. */
  #readName(): void {
    const at = this.#at;
    const name = this.#match(NAME);
    if (name === undefined) this.#fail(`found '${this.source[at]}', which has no meaning in a tag`, at);
    if (!IDENTIFIER.test(name)) this.#fail(`a name must be an identifier: found '${name}'`, at);
    this.#push("name", name, at);
  }

  /** Replaces escapes as Python's `unicode-escape` does after characters beyond ASCII were written as escapes. */
  #unescape(text: string, at: number): string {
    if (!text.includes("\\")) return text;
    const ascii = text.replace(/[^\0-\x7f]/gu, (char) => asciiEscape(char.codePointAt(0) ?? 0));
    return ascii.replace(ESCAPE, (escape: string) => {
      const kind = escape[1] ?? "";
      const simple = SIMPLE_ESCAPES[kind];
      if (simple !== undefined) return simple;
      if (/[0-7]/.test(kind)) return String.fromCodePoint(parseInt(escape.slice(1), 8));
      const digits = HEX_DIGITS[kind];
      if (kind === "N") this.#fail("characters must not be written by name: found '\\N'", at);
      if (digits === undefined) return escape;
      const code = parseInt(escape.slice(2), 16);
      if (escape.length !== digits + 2 || code > 0x10ffff) {
        this.#fail(`'\\${kind}' must be followed by ${digits} hexadecimal digits`, at);
      }
      return String.fromCodePoint(code);
    });
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.source)?.[0];
    if (text !== undefined) this.#moveTo(this.#at + text.length);
    return text;
  }

  #moveTo(at: number): void {
    this.#startsLine = this.source[at - 1] === "\n";
    this.#at = at;
  }

  #push(type: string, value: Value, at = this.#at): void {
    this.#tokens.push({ type, value, at });
  }

  #pushData(text: string): void {
    if (text !== "") this.#push("data", text);
  }

  #fail(reason: string, at: number): never {
    throw new TemplateSyntaxError(reason, positionOf(this.source, at));
  }
}

/** A pattern that ends with `$` would read long blanks inside a text again and again. */
function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && BLANK.test(text[end - 1] as string)) end--;
  return text.slice(0, end);
}

const ESCAPE = /\\(?:[0-7]{1,3}|x[\da-fA-F]{0,2}|u[\da-fA-F]{0,4}|U[\da-fA-F]{0,8}|[^])/g;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function asciiEscape(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

function integerOf(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
