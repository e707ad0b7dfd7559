/** A variable or an element of an array. */
export interface Target {
  readonly name: string;
  readonly index?: Expression;
}

export type Argument = Expression | { readonly type: "array"; readonly name: string };

export type Expression =
  | { readonly type: "number"; readonly text: string }
  | { readonly type: "target"; readonly target: Target }
  | { readonly type: "negate" | "not"; readonly value: Expression }
  | {
    readonly type: "binary" | "logic";
    readonly operator: string;
    readonly left: Expression;
    readonly right: Expression;
  }
  | {
    readonly type: "assign";
    readonly target: Target;
    readonly operator: string;
    readonly value: Expression;
  }
  | { readonly type: "step"; readonly target: Target; readonly by: 1 | -1; readonly isPrefix: boolean }
  | { readonly type: "call"; readonly name: string; readonly args: readonly Argument[] };

interface Parameter {
  readonly name: string;
  readonly isArray: boolean;
}

export type Statement =
  | { readonly type: "expression"; readonly value: Expression; readonly isPrinted: boolean }
  | { readonly type: "string"; readonly text: string }
  | { readonly type: "print"; readonly items: readonly (string | Expression)[] }
  | { readonly type: "block"; readonly body: readonly Statement[] }
  | {
    readonly type: "if";
    readonly condition: Expression;
    readonly then: Statement;
    readonly otherwise?: Statement;
  }
  | {
    readonly type: "loop";
    readonly start?: Expression;
    readonly condition?: Expression;
    readonly step?: Expression;
    readonly body: Statement;
  }
  | {
    readonly type: "define";
    readonly name: string;
    readonly parameters: readonly Parameter[];
    readonly locals: readonly Parameter[];
    readonly body: Statement;
    readonly isVoid: boolean;
  }
  | { readonly type: "return"; readonly value?: Expression }
  | { readonly type: "signal"; readonly signal: "break" | "continue" | "quit" };

/** The statements of a line, or the reason why it has none. */
export type Piece =
  | { readonly type: "line"; readonly statements: readonly Statement[]; readonly hasQuit: boolean }
  | { readonly type: "error"; readonly line: number; readonly message: string };

interface Token {
  readonly kind: "number" | "name" | "string" | "sign" | "line" | "end";
  readonly text: string;
  readonly line: number;
}

class BcSyntaxError extends Error {}

const TOKEN =
  /(\/\*[^]*?\*\/|#[^\n]*|\\\n|[ \t\r]+)|(\n)|("[^"]*")|((?:[0-9A-F](?:\\\n)?)+(?:\.(?:[0-9A-F](?:\\\n)?)*)?|\.(?:[0-9A-F](?:\\\n)?)+|\.(?![0-9A-F]))|([a-z][a-z0-9_]*)|([-+*/%^]=|\+\+|--|[<>=!]=|&&|\|\||[^])/g;

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  for (const [all, blank, end, string, number, name] of source.matchAll(TOKEN)) {
    if (blank === undefined) {
      if (end !== undefined) tokens.push({ kind: "line", text: all, line });
      else if (string !== undefined) tokens.push({ kind: "string", text: all.slice(1, -1), line });
      else if (number !== undefined) {
        tokens.push(
          all === "." ? { kind: "name", text: "last", line } : {
            kind: "number",
            text: all.replaceAll("\\\n", ""),
            line,
          },
        );
      } else tokens.push({ kind: name === undefined ? "sign" : "name", text: all, line });
    }
    line += all.split("\n").length - 1;
  }
  tokens.push({ kind: "end", text: "", line });
  return tokens;
}

/** Parses a program line by line. A line that is wrong is skipped. */
export function* parseProgram(source: string): Generator<Piece> {
  const parser = new Parser(tokensOf(source));
  while (!parser.isAtEnd) yield parser.readLine();
}

const COMPARISONS = new Set(["<", "<=", ">", ">=", "==", "!="]);
const ASSIGNMENTS = new Set(["=", "+=", "-=", "*=", "/=", "%=", "^="]);
const MAX_DEPTH = 400;

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  #hasQuit = false;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get #token(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "", line: 0 };
  }

  get isAtEnd(): boolean {
    return this.#token.kind === "end";
  }

  readLine(): Piece {
    const statements: Statement[] = [];
    this.#hasQuit = false;
    this.#depth = 0;
    try {
      while (!this.isAtEnd && !this.#takeLine()) {
        if (this.#take(";")) continue;
        const statement = this.#statement();
        statements.push(statement);
        if (statement.type === "define") continue;
        if (!this.isAtEnd && this.#token.kind !== "line" && this.#token.text !== ";") this.#fail();
      }
    } catch (error) {
      if (!(error instanceof BcSyntaxError)) throw error;
      const { line } = this.#token;
      while (!this.isAtEnd && !this.#takeLine()) this.#at++;
      return { type: "error", line, message: error.message };
    }
    return { type: "line", statements, hasQuit: this.#hasQuit };
  }

  #fail(message = "syntax error"): never {
    throw new BcSyntaxError(message);
  }

  #is(text: string): boolean {
    return (this.#token.kind === "sign" || this.#token.kind === "name") && this.#token.text === text;
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail();
  }

  #takeLine(): boolean {
    if (this.#token.kind !== "line") return false;
    this.#at++;
    return true;
  }

  #skipLines(): void {
    while (this.#takeLine());
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) this.#fail(`more than ${MAX_DEPTH} nested expressions`);
    const result = read();
    this.#depth--;
    return result;
  }

  #statement(): Statement {
    return this.#nested(() => this.#readStatement());
  }

  #readStatement(): Statement {
    const first = this.#token;
    if (first.kind === "string") {
      this.#at++;
      return { type: "string", text: first.text };
    }
    if (this.#take("{")) {
      const body: Statement[] = [];
      while (!this.#take("}")) {
        if (this.isAtEnd) this.#fail();
        if (!this.#takeLine() && !this.#take(";")) body.push(this.#statement());
      }
      return { type: "block", body };
    }
    if (this.#take("if")) return this.#condition();
    if (this.#take("while")) {
      this.#expect("(");
      const condition = this.#expression();
      this.#expect(")");
      this.#skipLines();
      return { type: "loop", condition, body: this.#statement() };
    }
    if (this.#take("for")) return this.#forLoop();
    if (this.#take("define")) return this.#definition();
    if (this.#take("print")) {
      const items: (string | Expression)[] = [];
      do {
        if (this.#token.kind === "string") items.push(unescape(this.#tokens[this.#at++]?.text ?? ""));
        else items.push(this.#expression());
      } while (this.#take(","));
      return { type: "print", items };
    }
    if (this.#take("return")) {
      const ends = this.isAtEnd || this.#token.kind === "line" || this.#is(";") || this.#is("}");
      return ends ? { type: "return" } : { type: "return", value: this.#expression() };
    }
    for (const signal of ["break", "continue"] as const) {
      if (this.#take(signal)) return { type: "signal", signal };
    }
    if (this.#take("halt")) return { type: "signal", signal: "quit" };
    if (this.#take("quit")) {
      this.#hasQuit = true;
      return { type: "signal", signal: "quit" };
    }
    for (const word of ["limits", "warranty"]) if (this.#take(word)) this.#fail(`'${word}' is not available`);
    const value = this.#expression();
    return { type: "expression", value, isPrinted: value.type !== "assign" };
  }

  #condition(): Statement {
    this.#expect("(");
    const condition = this.#expression();
    this.#expect(")");
    this.#skipLines();
    const then = this.#statement();
    const before = this.#at;
    this.#take(";");
    this.#skipLines();
    if (this.#take("else")) {
      this.#skipLines();
      return { type: "if", condition, then, otherwise: this.#statement() };
    }
    this.#at = before;
    return { type: "if", condition, then };
  }

  #forLoop(): Statement {
    this.#expect("(");
    const read = (end: string) => {
      const value = this.#is(end) ? undefined : this.#expression();
      this.#expect(end);
      return value;
    };
    const [start, condition, step] = [read(";"), read(";"), read(")")];
    this.#skipLines();
    const body = this.#statement();
    return {
      type: "loop",
      ...(start && { start }),
      ...(condition && { condition }),
      ...(step && { step }),
      body,
    };
  }

  #definition(): Statement {
    const isVoid = this.#take("void");
    const name = this.#name();
    this.#expect("(");
    const parameters = this.#parameters(")");
    this.#expect(")");
    this.#skipLines();
    this.#expect("{");
    this.#skipLines();
    let locals: Parameter[] = [];
    if (this.#take("auto")) {
      locals = this.#parameters(";");
      if (!this.#take(";") && !this.#takeLine()) this.#fail();
    }
    const body: Statement[] = [];
    while (!this.#take("}")) {
      if (this.isAtEnd) this.#fail();
      if (!this.#takeLine() && !this.#take(";")) body.push(this.#statement());
    }
    return { type: "define", name, parameters, locals, body: { type: "block", body }, isVoid };
  }

  #parameters(end: string): Parameter[] {
    const parameters: Parameter[] = [];
    if (this.#is(end)) return parameters;
    do {
      if (this.#is("*") || this.#is("&")) this.#fail("arrays are passed by value in the sandbox");
      const name = this.#name();
      const isArray = this.#take("[");
      if (isArray) this.#expect("]");
      parameters.push({ name, isArray });
    } while (this.#take(","));
    return parameters;
  }

  #name(): string {
    const { kind, text } = this.#token;
    if (kind !== "name") this.#fail();
    this.#at++;
    return text;
  }

  #expression(): Expression {
    return this.#nested(() => this.#or());
  }

  #or(): Expression {
    let left = this.#and();
    while (this.#take("||")) left = { type: "logic", operator: "||", left, right: this.#and() };
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.#take("&&")) left = { type: "logic", operator: "&&", left, right: this.#not() };
    return left;
  }

  #not(): Expression {
    return this.#take("!") ? { type: "not", value: this.#nested(() => this.#not()) } : this.#comparison();
  }

  #comparison(): Expression {
    let left = this.#assignment();
    for (;;) {
      const { text, kind } = this.#token;
      if (kind !== "sign" || !COMPARISONS.has(text)) return left;
      this.#at++;
      left = { type: "binary", operator: text, left, right: this.#assignment() };
    }
  }

  #assignment(): Expression {
    const left = this.#sum();
    const { text, kind } = this.#token;
    if (kind !== "sign" || !ASSIGNMENTS.has(text)) return left;
    if (left.type !== "target") this.#fail();
    this.#at++;
    const value = this.#nested(() => this.#assignment());
    return { type: "assign", target: left.target, operator: text.slice(0, -1), value };
  }

  #sum(): Expression {
    let left = this.#product();
    for (;;) {
      const { text } = this.#token;
      if (!this.#take("+") && !this.#take("-")) return left;
      left = { type: "binary", operator: text, left, right: this.#product() };
    }
  }

  #product(): Expression {
    let left = this.#power();
    for (;;) {
      const { text } = this.#token;
      if (!this.#take("*") && !this.#take("/") && !this.#take("%")) return left;
      left = { type: "binary", operator: text, left, right: this.#power() };
    }
  }

  #power(): Expression {
    const left = this.#unary();
    if (!this.#take("^")) return left;
    return { type: "binary", operator: "^", left, right: this.#nested(() => this.#power()) };
  }

  #unary(): Expression {
    if (this.#take("-")) return { type: "negate", value: this.#nested(() => this.#unary()) };
    for (const [sign, by] of [["++", 1], ["--", -1]] as const) {
      if (!this.#take(sign)) continue;
      const value = this.#primary();
      if (value.type !== "target") this.#fail();
      return { type: "step", target: value.target, by, isPrefix: true };
    }
    const value = this.#primary();
    if (value.type === "target") {
      for (const [sign, by] of [["++", 1], ["--", -1]] as const) {
        if (this.#take(sign)) return { type: "step", target: value.target, by, isPrefix: false };
      }
    }
    return value;
  }

  #primary(): Expression {
    const { kind, text } = this.#token;
    if (kind === "number") {
      this.#at++;
      return { type: "number", text };
    }
    if (this.#take("(")) {
      const value = this.#expression();
      this.#expect(")");
      // An assignment in parentheses is printed, so that it must not look like a bare assignment.
      return value.type === "assign"
        ? { type: "binary", operator: "+", left: value, right: { type: "number", text: "0" } }
        : value;
    }
    const name = this.#name();
    if (this.#take("(")) {
      const args: Argument[] = [];
      while (!this.#take(")")) {
        if (args.length > 0) this.#expect(",");
        args.push(this.#argument());
      }
      return { type: "call", name, args };
    }
    if (!this.#take("[")) return { type: "target", target: { name } };
    const index = this.#expression();
    this.#expect("]");
    return { type: "target", target: { name, index } };
  }

  #argument(): Argument {
    const [name, open, close] = this.#tokens.slice(this.#at, this.#at + 3);
    if (name?.kind === "name" && open?.text === "[" && close?.text === "]") {
      this.#at += 3;
      return { type: "array", name: name.text };
    }
    return this.#expression();
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  q: '"',
  r: "\r",
  t: "\t",
  "\\": "\\",
};

function unescape(text: string): string {
  return text.replace(/\\([^])/g, (all, letter: string) => ESCAPES[letter] ?? all);
}
