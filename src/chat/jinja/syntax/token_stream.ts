import { TemplateSyntaxError } from "../jinja_errors.ts";
import { positionOf, type Token, tokenize } from "./lexer.ts";

/** The tokens of a template, which a parser reads in order. */
export class TokenStream {
  readonly #tokens: readonly Token[];
  #index = 0;

  constructor(readonly source: string) {
    this.#tokens = tokenize(source);
  }

  get current(): Token {
    return this.#tokens[this.#index] as Token; // the last token, `eof`, is never passed
  }

  get following(): Token {
    return this.#tokens[this.#index + 1] ?? this.current;
  }

  /** Returns the current token and goes to the next. */
  next(): Token {
    const token = this.current;
    if (token.type !== "eof") this.#index++;
    return token;
  }

  /** True if the current token has this type. */
  is(type: string): boolean {
    return this.current.type === type;
  }

  /** True if the current token is any of these names. */
  isName(...names: readonly string[]): boolean {
    const { type, value } = this.current;
    return type === "name" && names.includes(value as string);
  }

  skipIf(type: string): boolean {
    if (!this.is(type)) return false;
    this.next();
    return true;
  }

  skipIfName(name: string): boolean {
    if (!this.isName(name)) return false;
    this.next();
    return true;
  }

  expect(type: string): Token {
    if (this.is(type)) return this.next();
    this.fail(`expected ${describeType(type)}, found ${describe(this.current)}`);
  }

  expectName(name: string): Token {
    if (this.isName(name)) return this.next();
    this.fail(`expected '${name}', found ${describe(this.current)}`);
  }

  fail(reason: string, at = this.current.at): never {
    throw new TemplateSyntaxError(reason, positionOf(this.source, at));
  }
}

const TYPES: Readonly<Record<string, string>> = {
  name: "a name",
  string: "a string",
  integer: "a number",
  float: "a number",
  data: "text",
  eof: "the end of the template",
  block_begin: "'{%'",
  block_end: "'%}'",
  print_begin: "'{{'",
  print_end: "'}}'",
};

function describeType(type: string): string {
  return TYPES[type] ?? `'${type}'`;
}

/** Describes a token for an error. */
export function describe({ type, value }: Token): string {
  return type === "name" ? `'${value}'` : describeType(type);
}
