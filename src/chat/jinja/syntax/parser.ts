import { ExpressionParser } from "./expression_parser.ts";
import { normalizeSource } from "./lexer.ts";
import type { Body, Expression, FilterNode, NameNode, Signature, Statement } from "./nodes.ts";
import { TokenStream } from "./token_stream.ts";

/** A parsed template. */
export interface ParsedTemplate {
  /** The source in Jinja2's form, to which positions of nodes refer. */
  readonly source: string;
  readonly body: Body;
}

/** Tags that Jinja2 has and that need other templates, or change how all text is escaped. */
const REFUSED_TAGS = ["block", "extends", "include", "import", "from", "autoescape"];

/**
 * Parses a template with the tags that transformers' renderer knows: tags of Jinja2, loop controls and `generation`.
 *
 * @throws {TemplateSyntaxError} if the source is not a template, or a tag is unknown.
 */
export function parseTemplate(source: string): ParsedTemplate {
  const normal = normalizeSource(source);
  const tokens = new TokenStream(normal);
  const body = new StatementParser(tokens).parseBody([]);
  return { source: normal, body };
}

class StatementParser extends ExpressionParser {
  /** Number of loops around the current tag in the same function; `break` and `continue` need a loop. */
  #loops = 0;
  readonly #open: string[] = [];

  constructor(tokens: TokenStream) {
    super(tokens);
  }

  /**
   * Parses statements up to an end tag, whose name is then the current token; without end tags, up to the last statement.
   */
  parseBody(ends: readonly string[]): Statement[] {
    const { tokens } = this;
    const body: Statement[] = [];
    while (!tokens.is("eof")) {
      const { type, value, at } = tokens.next();
      if (type === "data") {
        body.push({ kind: "data", text: value as string, at });
      } else if (type === "print_begin") {
        body.push({ kind: "print", value: this.parseTuple(), at });
        tokens.expect("print_end");
      } else {
        if (tokens.isName(...ends)) return body;
        body.push(...this.#parseStatement());
        tokens.expect("block_end");
      }
    }
    if (ends.length > 0) tokens.fail(`expected '${ends.join("' or '")}' for the tag '${this.#open.at(-1)}'`);
    return body;
  }

  #parseStatement(): Statement[] {
    const { value, at } = this.tokens.expect("name");
    const tag = value as string;
    const parse = this.#tags[tag];
    if (REFUSED_TAGS.includes(tag)) {
      this.tokens.fail(`the tag '${tag}' is not supported in a chat template`, at);
    }
    if (parse === undefined) this.tokens.fail(`the tag '${tag}' is unknown${this.#expectation()}`, at);
    this.#open.push(tag);
    const statements = parse(at);
    this.#open.pop();
    return statements;
  }

  #expectation(): string {
    const open = this.#open.at(-1);
    return open === undefined ? "" : ` here, inside '${open}'`;
  }

  readonly #tags: Readonly<Record<string, (at: number) => Statement[]>> = {
    __proto__: null as never,
    for: (at) => [this.#parseFor(at)],
    if: (at) => [this.#parseIf(at)],
    set: (at) => [this.#parseSet(at)],
    macro: (at) => [this.#parseMacro(at)],
    call: (at) => [this.#parseCallBlock(at)],
    filter: (at) => [this.#parseFilterBlock(at)],
    with: (at) => [this.#parseWith(at)],
    print: (at) => this.#parsePrint(at),
    generation: (at) => [this.#parseGeneration(at)],
    break: (at) => [this.#parseLoopControl("break", at)],
    continue: (at) => [this.#parseLoopControl("continue", at)],
  };

  /** Parses the rest of a tag, which ends here, the tag's body, and the end tag. */
  #parseBlock(end: string): Statement[] {
    this.#endTag();
    const body = this.parseBody([end]);
    this.tokens.next();
    return body;
  }

  #endTag(): void {
    this.tokens.skipIf(":");
    this.tokens.expect("block_end");
  }

  #parseFor(at: number): Statement {
    const { tokens } = this;
    const target = this.#parseTarget({ end: "in" });
    tokens.expectName("in");
    const iterable = this.parseTuple({ item: () => this.parseExpression(false), end: "recursive" });
    const test = tokens.skipIfName("if") ? this.parseExpression() : undefined;
    const recursive = tokens.skipIfName("recursive");
    this.#endTag();
    this.#loops++;
    const body = this.parseBody(["endfor", "else"]);
    this.#loops--;
    const otherwise = tokens.next().value === "else" ? this.#parseBlock("endfor") : [];
    return { kind: "for", target, iterable, test, recursive, body, otherwise, at };
  }

  #parseIf(at: number): Statement {
    const branches = [];
    let otherwise: Statement[] = [];
    for (let tag: unknown = "if"; tag !== "endif";) {
      if (tag === "else") {
        otherwise = this.#parseBlock("endif");
        break;
      }
      const test = this.parseTuple({ item: () => this.parseExpression(false) });
      this.#endTag();
      branches.push({ test, body: this.parseBody(["elif", "else", "endif"]) });
      tag = this.tokens.next().value;
    }
    return { kind: "if", branches, otherwise, at };
  }

  #parseSet(at: number): Statement {
    const target = this.#parseTarget({ withMembers: true });
    if (this.tokens.skipIf("=")) return { kind: "set", target, value: this.parseTuple(), at };
    const filter = this.parseFilters(undefined) as FilterNode | undefined;
    return { kind: "set_block", target, filter, body: this.#parseBlock("endset"), at };
  }

  #parseMacro(at: number): Statement {
    const { value } = this.tokens.expect("name");
    if (isConstant(value as string)) this.tokens.fail(`'${value}' must not be set`, at);
    const signature = this.#parseSignature();
    return { kind: "macro", name: value as string, ...signature, body: this.#parseFunction("endmacro"), at };
  }

  #parseCallBlock(at: number): Statement {
    const signature = this.tokens.is("(") ? this.#parseSignature() : { params: [], defaults: [] };
    const call = this.parseExpression();
    if (call.kind !== "call") this.tokens.fail("the tag 'call' must contain a call", at);
    return { kind: "call_block", call, ...signature, body: this.#parseFunction("endcall"), at };
  }

  #parseGeneration(at: number): Statement {
    const body = this.#parseFunction("endgeneration");
    return { kind: "call_block", call: undefined, params: [], defaults: [], body, at };
  }

  /** Parses a body that is a separate function, so that a loop outside does not count. */
  #parseFunction(end: string): Statement[] {
    const loops = this.#loops;
    this.#loops = 0;
    const body = this.#parseBlock(end);
    this.#loops = loops;
    return body;
  }

  #parseSignature(): Signature {
    const { tokens } = this;
    const params: NameNode[] = [];
    const defaults: Expression[] = [];
    tokens.expect("(");
    while (!tokens.is(")")) {
      if (params.length > 0) tokens.expect(",");
      const { value, at } = tokens.expect("name");
      const name = value as string;
      if (isConstant(name)) tokens.fail(`'${name}' must not be set`, at);
      if (params.some((param) => param.name === name)) {
        tokens.fail(`the parameter '${name}' stands twice`, at);
      }
      params.push({ kind: "name", name, use: "param", at });
      if (tokens.skipIf("=")) defaults.push(this.parseExpression());
      else if (defaults.length > 0) {
        tokens.fail(`the parameter '${name}' must have a default, as one before has it`, at);
      }
    }
    tokens.expect(")");
    return { params, defaults };
  }

  #parseFilterBlock(at: number): Statement {
    const filter = this.parseFilters(undefined, true) as FilterNode;
    return { kind: "filter_block", filter, body: this.#parseBlock("endfilter"), at };
  }

  #parseWith(at: number): Statement {
    const { tokens } = this;
    const targets: Expression[] = [];
    const values: Expression[] = [];
    while (!tokens.is("block_end")) {
      if (targets.length > 0) tokens.expect(",");
      targets.push(this.#parseTarget({ use: "param" }));
      tokens.expect("=");
      values.push(this.parseExpression());
    }
    return { kind: "with", targets, values, body: this.#parseBlock("endwith"), at };
  }

  #parsePrint(at: number): Statement[] {
    const statements: Statement[] = [];
    while (!this.tokens.is("block_end")) {
      if (statements.length > 0) this.tokens.expect(",");
      statements.push({ kind: "print", value: this.parseExpression(), at });
    }
    return statements;
  }

  #parseLoopControl(kind: "break" | "continue", at: number): Statement {
    if (this.#loops === 0) this.tokens.fail(`the tag '${kind}' must be inside a loop`, at);
    return { kind, at };
  }

  /**
   * Parses the target of an assignment: a name, a member of a namespace where `set` allows a member, or a tuple of
   * targets.
   */
  #parseTarget(options: { end?: string; withMembers?: boolean; use?: "store" | "param" }): Expression {
    const { end, withMembers = false, use = "store" } = options;
    const { at } = this.tokens.current;
    const target = this.parseTuple({ item: () => this.#parseTargetItem(withMembers), end });
    const reason = assign(target, use);
    if (reason !== undefined) this.tokens.fail(reason, at);
    return target;
  }

  #parseTargetItem(withMembers: boolean): Expression {
    const { tokens } = this;
    const { type, value, at } = tokens.current;
    const name = value as string;
    if (!withMembers || type !== "name" || tokens.following.type !== "." || isConstant(name)) {
      return this.parsePrimary();
    }
    tokens.next();
    tokens.next();
    return { kind: "namespace_member", name, member: tokens.expect("name").value as string, at };
  }
}

function isConstant(name: string): boolean {
  return /^(?:[Tt]rue|[Ff]alse|[Nn]one)$/.test(name);
}

/** Marks the names of a target as set. Returns the reason if the node cannot be a target. */
function assign(target: Expression, use: "store" | "param"): string | undefined {
  if (target.kind === "namespace_member") return undefined;
  if (target.kind === "tuple") return target.items.map((item) => assign(item, use)).find((reason) => reason);
  if (target.kind !== "name") {
    return `cannot assign to ${target.kind === "const" ? "a constant" : "an expression"}`;
  }
  target.use = use;
  return undefined;
}
