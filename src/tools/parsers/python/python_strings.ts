import { characterNamed } from "./unicode_names.ts";

/** A string literal of Python. */
export interface PythonString {
  readonly value: string;
  readonly isBytes: boolean;
  /** Index of the first character after the string. */
  readonly end: number;
}

/** A string literal that Python would refuse. */
export class PythonStringError extends SyntaxError {
  override readonly name = "PythonStringError";
  /** Index of the character at which reading failed. */
  readonly at: number;

  constructor(reason: string, at: number) {
    super(reason);
    this.at = at;
  }
}

const PREFIX = /(?:[rR][bB]?|[bB][rR]?|[uU])?(?=["'])/y;
/** What needs no attention in a string. */
const PLAIN = /[^"'\\\r\n]+/y;
const SIMPLE: Readonly<Record<string, string>> = {
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
/** Number of hexadecimal digits of an escape. */
const DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const OCTAL = /[0-7]{1,3}/y;
const NAME = /\{([^{}\r\n]{1,128})\}/y;
const NON_ASCII = /[\x80-\uffff]/;

/**
 * Reads the string literal at an index, with the prefixes `r`, `u`, `b` and `rb`; `undefined` if there is no literal.
 * Bytes become the characters of the same numbers. Formatted strings are no literals.
 *
 * @throws {PythonStringError} if Python would refuse the literal.
 */
export function readPythonString(text: string, start: number): PythonString | undefined {
  PREFIX.lastIndex = start;
  const prefix = PREFIX.exec(text)?.[0].toLowerCase();
  return prefix === undefined ? undefined : new StringReader(text, start, prefix).read();
}

class StringReader {
  readonly #text: string;
  readonly #isRaw: boolean;
  readonly #isBytes: boolean;
  readonly #quotes: string;
  #at: number;

  constructor(text: string, start: number, prefix: string) {
    this.#text = text;
    this.#isRaw = prefix.includes("r");
    this.#isBytes = prefix.includes("b");
    this.#at = start + prefix.length;
    const quote = text.charAt(this.#at);
    const triple = quote.repeat(3);
    this.#quotes = text.startsWith(triple, this.#at) ? triple : quote;
    this.#at += this.#quotes.length;
  }

  read(): PythonString {
    const start = this.#at;
    const parts: string[] = [];
    while (!this.#text.startsWith(this.#quotes, this.#at)) parts.push(this.#next());
    if (this.#isBytes && NON_ASCII.test(this.#text.slice(start, this.#at))) this.#fail("bytes must be ASCII");
    return { value: parts.join(""), isBytes: this.#isBytes, end: this.#at + this.#quotes.length };
  }

  #next(): string {
    const plain = this.#match(PLAIN);
    if (plain !== "") return plain;
    const next = this.#text[this.#at];
    if (next === undefined || (this.#quotes.length === 1 && (next === "\n" || next === "\r"))) {
      this.#fail("a text must be closed");
    }
    this.#at++;
    if (next === "\\") return this.#isRaw ? this.#rawPair() : this.#escape();
    return next === "\r" ? this.#lineEnd() : next;
  }

  /** A line end is `\n` in Python's source, whatever the file has. */
  #lineEnd(): string {
    if (this.#text[this.#at] === "\n") this.#at++;
    return "\n";
  }

  /** A backslash of a raw string stays, and the following character does not end the string. */
  #rawPair(): string {
    const next = this.#text[this.#at++] ?? this.#fail("a text must be closed");
    return `\\${next === "\r" ? this.#lineEnd() : next}`;
  }

  #escape(): string {
    const octal = this.#match(OCTAL);
    if (octal !== "") {
      const code = Number.parseInt(octal, 8);
      return String.fromCharCode(this.#isBytes ? code & 0xff : code);
    }
    const letter = this.#text[this.#at++] ?? this.#fail("a text must be closed");
    if (letter === "\n" || letter === "\r") {
      if (letter === "\r") this.#lineEnd();
      return "";
    }
    const simple = SIMPLE[letter];
    if (simple !== undefined) return simple;
    const digits = this.#isBytes && letter !== "x" ? undefined : DIGITS[letter];
    if (digits !== undefined) return this.#character(digits);
    return letter === "N" && !this.#isBytes ? this.#namedCharacter() : `\\${letter}`;
  }

  #character(digits: number): string {
    const code = this.#text.slice(this.#at, this.#at + digits);
    const point = Number.parseInt(code, 16);
    const isCode = code.length === digits && /^[\da-f]+$/i.test(code) && point <= 0x10ffff;
    if (!isCode) this.#fail("an escape must be the number of a character");
    this.#at += digits;
    return String.fromCodePoint(point);
  }

  #namedCharacter(): string {
    NAME.lastIndex = this.#at;
    const [head = "", name = ""] = NAME.exec(this.#text) ?? [];
    const character = characterNamed(name) ?? this.#fail("an escape must be the name of a character");
    this.#at += head.length;
    return character;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += match.length;
    return match;
  }

  #fail(reason: string): never {
    throw new PythonStringError(reason, this.#at);
  }
}
