import { C_ESCAPES } from "../command.ts";
import { AwkSyntaxError, BUILTINS, type Rule } from "./syntax.ts";

/** A token. `call` is a name directly before a parenthesis. */
export interface Token {
  readonly kind:
    | "number"
    | "text"
    | "regex"
    | "name"
    | "call"
    | "builtin"
    | "keyword"
    | "sign"
    | "newline"
    | "end";
  /** The text; of a number its digits. */
  readonly text: string;
  readonly line: number;
  readonly at: number;
}

const KEYWORDS = new Set(
  ("BEGIN BEGINFILE END ENDFILE break case continue default delete do else exit for func function getline if in next " +
    "nextfile print printf return switch while").split(" "),
);
const SIGN =
  /(?:\*\*=|\*\*|\+\+|--|\+=|-=|\*=|\/=|%=|\^=|==|<=|>=|!=|&&|\|\||>>|\|&|!~|[{}()[\];,+\-*/%^!<>|?:~$=])/y;
const NUMBER = /0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y;
const NAME = /[A-Za-z_]\w*(?:::\w+)?/y;
const BLANK = /(?:[ \t\r]|\\\r?\n|#[^\n]*)+/y;

const MAX_DEPTH = 500;

/** Splits a program into tokens. The parser says where `/` begins a regular expression. */
class Lexer {
  readonly warnings: string[] = [];
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the next token. */
  next(): Token {
    const blank = this.#take(BLANK);
    this.#line += blank.split("\n").length - 1;
    const [line, at] = [this.#line, this.#at];
    const sign = this.#text.charAt(at);
    const token = (kind: Token["kind"], text: string): Token => ({ kind, text, line, at });
    if (sign === "") return token("end", "");
    if (sign === "\n") {
      this.#at++;
      this.#line++;
      return token("newline", "\n");
    }
    if (sign === '"') return token("text", this.#string());
    const digits = this.#take(NUMBER);
    if (digits !== "") return token("number", digits);
    const name = this.#take(NAME);
    if (name !== "") return token(this.#kindOf(name), name);
    const operator = this.#take(SIGN);
    if (operator === "") throw new AwkSyntaxError("syntax error", { line, at });
    return token("sign", operator);
  }

  /** Reads a regular expression behind the token `/` or `/=`, which began at `token`. Returns its source. */
  regex(token: Token): string {
    let source = token.text.slice(1);
    let isInBracket = false;
    for (;;) {
      const sign = this.#text.charAt(this.#at++);
      if (sign === "" || sign === "\n") {
        throw new AwkSyntaxError("unterminated regexp", { line: token.line, at: token.at });
      }
      if (sign === "\\") {
        const escaped = this.#text.charAt(this.#at++);
        if (escaped !== "\n") source += escaped === "/" ? "/" : `\\${escaped}`;
      } else if (sign === "/" && !isInBracket) return source;
      else {
        if (sign === "[" && !isInBracket) {
          isInBracket = true;
          source += sign + this.#take(/\^?\]?/y);
          continue;
        }
        if (sign === "[" && isInBracket) {
          source += sign + this.#take(/[:.=][^\]\n]*[:.=]\]/y);
          continue;
        }
        if (sign === "]") isInBracket = false;
        source += sign;
      }
    }
  }

  #kindOf(name: string): Token["kind"] {
    if (KEYWORDS.has(name)) return "keyword";
    if (Object.hasOwn(BUILTINS, name)) return "builtin";
    return this.#text.charAt(this.#at) === "(" ? "call" : "name";
  }

  #take(expression: RegExp): string {
    expression.lastIndex = this.#at;
    const [found = ""] = expression.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #string(): string {
    const start = { line: this.#line, at: this.#at };
    this.#at++;
    let raw = "";
    for (;;) {
      const sign = this.#text.charAt(this.#at++);
      if (sign === '"') break;
      if (sign === "" || sign === "\n") throw new AwkSyntaxError("unterminated string", start);
      raw += sign;
      if (sign !== "\\") continue;
      const escaped = this.#text.charAt(this.#at++);
      if (escaped === "\n") {
        raw = raw.slice(0, -1);
        this.#line++;
      } else raw += escaped;
    }
    return expandEscapes(raw, (escape) => {
      const warning = `warning: escape sequence \`\\${escape}' treated as plain \`${escape}'`;
      this.warnings.push(`cmd. line:${start.line}: ${warning}`);
    });
  }
}

/** Expands the escapes of a string constant, or of the value of `-v`. */
export function expandEscapes(text: string, onUnknown: (escape: string) => void = () => {}): string {
  return text.replace(
    /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|([^]))/gu,
    (_, octal?: string, hex?: string, escape = "") => {
      if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8) & 255);
      if (hex !== undefined) return String.fromCharCode(parseInt(hex, 16));
      const known = C_ESCAPES[escape] ?? (escape === '"' ? escape : undefined);
      if (known === undefined) onUnknown(escape);
      return known ?? escape;
    },
  );
}

/** Reads the tokens of a program, one ahead. */
export class TokenReader {
  protected readonly lexer: Lexer;
  protected token: Token;
  /** What is read: statements of a function, or of rules. */
  protected when: Rule["when"] | "function" = "record";
  #depth = 0;

  constructor(text: string) {
    this.lexer = new Lexer(text);
    this.token = this.lexer.next();
  }

  protected advance(): Token {
    const token = this.token;
    this.token = this.lexer.next();
    return token;
  }

  protected is(sign: string): boolean {
    return this.token.kind === "sign" && this.token.text === sign;
  }

  protected isKeyword(...words: readonly string[]): boolean {
    return this.token.kind === "keyword" && words.includes(this.token.text);
  }

  protected isEnd(): boolean {
    return this.token.kind === "newline" || this.token.kind === "end" || this.is(";") || this.is("}");
  }

  protected expect(sign: string): void {
    if (!this.is(sign)) this.fail();
    this.advance();
  }

  protected endStatement(): void {
    if (!this.isEnd()) this.fail();
    if (!this.is("}")) this.advance();
  }

  protected skipNewlines(): void {
    while (this.token.kind === "newline") this.advance();
  }

  protected skipEnds(): void {
    while (this.token.kind === "newline" || this.is(";")) this.advance();
  }

  protected nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new AwkSyntaxError("expressions are nested too deeply", this.token);
    const value = read();
    this.#depth--;
    return value;
  }

  protected fail(): never {
    const { kind } = this.token;
    const message = kind === "newline" || kind === "end"
      ? "unexpected newline or end of string"
      : "syntax error";
    throw new AwkSyntaxError(message, this.token);
  }
}
