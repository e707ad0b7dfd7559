import type { BinaryOperator, CallArguments, CompareOperator, Expression, FilterNode } from "./nodes.ts";
import { describe, type TokenStream } from "./token_stream.ts";

const COMPARE: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);
const CONSTANTS: Readonly<Record<string, boolean | null>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
};
const ARGUMENT_STARTS: ReadonlySet<string> = new Set(["name", "string", "integer", "float", "[", "{"]);

/** Options of {@linkcode ExpressionParser.parseTuple}. */
interface TupleOptions {
  /** Parser of an item. */
  readonly item?: () => Expression;
  /** Name that ends the tuple, besides the end of a tag and `)`. */
  readonly end?: string | undefined;
  /** True inside parentheses, where nothing is an empty tuple. */
  readonly inParentheses?: boolean;
}

/**
 * Parses expressions with the precedence of Jinja2, from weak to strong: `if`, `or`, `and`, `not`, comparisons, `+` and
 * `-`, `~`, `*` `/` `//` `%`, `**`, signs, then attributes, calls, filters and tests. A sign binds stronger than `**`
 * and weaker than an attribute; `-x|abs` is `(-x)|abs`.
 */
export class ExpressionParser {
  constructor(protected readonly tokens: TokenStream) {}

  /** Parses an expression. `for` and `if` allow none with an inline `if`. */
  parseExpression(withConditional = true): Expression {
    return withConditional ? this.#parseConditional() : this.#parseOr();
  }

  /** Parses an expression, or a tuple without parentheses. */
  parseTuple(options: TupleOptions = {}): Expression {
    const { item = () => this.parseExpression(), end, inParentheses = false } = options;
    const { at } = this.tokens.current;
    const items: Expression[] = [];
    let isTuple = false;
    while (true) {
      if (items.length > 0) this.tokens.expect(",");
      if (this.#isTupleEnd(end)) break;
      items.push(item());
      if (!this.tokens.is(",")) break;
      isTuple = true;
    }
    const [only] = items;
    if (!isTuple && only !== undefined) return only;
    if (!isTuple && !inParentheses) {
      this.tokens.fail(`expected an expression, found ${describe(this.tokens.current)}`);
    }
    return { kind: "tuple", items, at };
  }

  #isTupleEnd(end: string | undefined): boolean {
    const { tokens } = this;
    return tokens.is("print_end") || tokens.is("block_end") || tokens.is(")") ||
      (end !== undefined && tokens.isName(end));
  }

  #parseConditional(): Expression {
    const { at } = this.tokens.current;
    let yes = this.#parseOr();
    while (this.tokens.skipIfName("if")) {
      const test = this.#parseOr();
      const no = this.tokens.skipIfName("else") ? this.#parseConditional() : undefined;
      yes = { kind: "conditional", test, yes, no, at };
    }
    return yes;
  }

  #parseOr(): Expression {
    let left = this.#parseAnd();
    while (this.tokens.isName("or")) {
      const { at } = this.tokens.next();
      left = { kind: "or", left, right: this.#parseAnd(), at };
    }
    return left;
  }

  #parseAnd(): Expression {
    let left = this.#parseNot();
    while (this.tokens.isName("and")) {
      const { at } = this.tokens.next();
      left = { kind: "and", left, right: this.#parseNot(), at };
    }
    return left;
  }

  #parseNot(): Expression {
    if (!this.tokens.isName("not")) return this.#parseCompare();
    const { at } = this.tokens.next();
    return { kind: "not", value: this.#parseNot(), at };
  }

  #parseCompare(): Expression {
    const { at } = this.tokens.current;
    const first = this.#parseSum();
    const rest: { operator: CompareOperator; value: Expression }[] = [];
    for (let operator = this.#compareOperator(); operator; operator = this.#compareOperator()) {
      rest.push({ operator, value: this.#parseSum() });
    }
    return rest.length === 0 ? first : { kind: "compare", first, rest, at };
  }

  #compareOperator(): CompareOperator | undefined {
    const { tokens } = this;
    if (COMPARE.has(tokens.current.type)) return tokens.next().type as CompareOperator;
    if (tokens.skipIfName("in")) return "in";
    const { type, value } = tokens.following;
    if (!tokens.isName("not") || type !== "name" || value !== "in") return undefined;
    tokens.next();
    tokens.next();
    return "not in";
  }

  #parseSum(): Expression {
    return this.#parseBinary(["+", "-"], () => this.#parseConcat());
  }

  #parseConcat(): Expression {
    const { at } = this.tokens.current;
    const first = this.#parseProduct();
    const items = [first];
    while (this.tokens.skipIf("~")) items.push(this.#parseProduct());
    return items.length === 1 ? first : { kind: "concat", items, at };
  }

  #parseProduct(): Expression {
    return this.#parseBinary(["*", "/", "//", "%"], () => this.#parsePower());
  }

  #parsePower(): Expression {
    return this.#parseBinary(["**"], () => this.#parseUnary());
  }

  /** Parses operators of the same precedence, which bind to the left. In Jinja2, `**` does so too. */
  #parseBinary(operators: readonly BinaryOperator[], operand: () => Expression): Expression {
    let left = operand();
    for (;;) {
      const operator = operators.find((operator) => this.tokens.is(operator));
      if (operator === undefined) return left;
      const { at } = this.tokens.next();
      left = { kind: "binary", operator, left, right: operand(), at };
    }
  }

  #parseUnary(withFilters = true): Expression {
    const { type, at } = this.tokens.current;
    let node: Expression;
    if (type === "-" || type === "+") {
      this.tokens.next();
      node = { kind: type === "-" ? "negative" : "positive", value: this.#parseUnary(false), at };
    } else {
      node = this.parsePrimary();
    }
    node = this.#parsePostfix(node);
    return withFilters ? this.#parseFiltersAndTests(node) : node;
  }

  /** Parses a name, literal, or expression in brackets. */
  protected parsePrimary(): Expression {
    const { tokens } = this;
    const { type, value, at } = tokens.current;
    switch (type) {
      case "name": {
        tokens.next();
        const name = value as string;
        if (Object.hasOwn(CONSTANTS, name)) return { kind: "const", value: CONSTANTS[name] ?? null, at };
        return { kind: "name", name, use: "load", at };
      }
      case "string": {
        let text = "";
        while (tokens.is("string")) text += tokens.next().value; // literals beside each other are one string
        return { kind: "const", value: text, at };
      }
      case "integer":
      case "float":
        tokens.next();
        return { kind: "const", value, at };
      case "(": {
        tokens.next();
        const tuple = this.parseTuple({ inParentheses: true });
        tokens.expect(")");
        return tuple;
      }
      case "[":
        return { kind: "list", items: this.#parseItems("[", "]", () => this.parseExpression()), at };
      case "{":
        return { kind: "dict", pairs: this.#parseItems("{", "}", () => this.#parsePair()), at };
    }
    this.tokens.fail(`expected an expression, found ${describe(tokens.current)}`);
  }

  #parseItems<Item>(open: string, close: string, parseItem: () => Item): Item[] {
    const { tokens } = this;
    tokens.expect(open);
    const items: Item[] = [];
    while (!tokens.is(close)) {
      if (items.length > 0) tokens.expect(",");
      if (tokens.is(close)) break;
      items.push(parseItem());
    }
    tokens.expect(close);
    return items;
  }

  #parsePair(): [Expression, Expression] {
    const key = this.parseExpression();
    this.tokens.expect(":");
    return [key, this.parseExpression()];
  }

  #parsePostfix(start: Expression): Expression {
    let node = start;
    for (;;) {
      if (this.tokens.is(".")) node = this.#parseAttribute(node);
      else if (this.tokens.is("[")) node = this.#parseSubscript(node);
      else if (this.tokens.is("(")) node = this.#parseCall(node);
      else return node;
    }
  }

  #parseFiltersAndTests(start: Expression): Expression {
    let node = start;
    for (;;) {
      if (this.tokens.is("|")) node = this.parseFilters(node) ?? node;
      else if (this.tokens.isName("is")) node = this.#parseTest(node);
      else if (this.tokens.is("(")) node = this.#parseCall(node);
      else return node;
    }
  }

  #parseAttribute(object: Expression): Expression {
    const { at } = this.tokens.next();
    const { type, value } = this.tokens.next();
    if (type === "name") return { kind: "attribute", object, name: value as string, at };
    if (type !== "integer") this.tokens.fail("expected a name or number after '.'", at);
    return { kind: "item", object, index: { kind: "const", value, at }, at };
  }

  #parseSubscript(object: Expression): Expression {
    const { at } = this.tokens.expect("[");
    const items: Expression[] = [];
    while (!this.tokens.is("]")) {
      if (items.length > 0) this.tokens.expect(",");
      items.push(this.#parseIndex());
    }
    this.tokens.expect("]");
    const [only] = items;
    const index: Expression = items.length === 1 && only !== undefined ? only : { kind: "tuple", items, at };
    return { kind: "item", object, index, at };
  }

  #parseIndex(): Expression {
    const { tokens } = this;
    const { at } = tokens.current;
    const first = tokens.is(":") ? undefined : this.parseExpression();
    if (!tokens.is(":")) return first as Expression;
    const bounds: (Expression | undefined)[] = [first];
    while (bounds.length < 3 && tokens.skipIf(":")) {
      const isEmpty = tokens.is(":") || tokens.is("]") || tokens.is(",");
      bounds.push(isEmpty ? undefined : this.parseExpression());
    }
    return { kind: "slice", bounds, at };
  }

  #parseCall(callee: Expression): Expression {
    const { at } = this.tokens.current;
    return { kind: "call", callee, ...this.#parseArguments(), at };
  }

  #parseArguments(): CallArguments {
    const { tokens } = this;
    const { at } = tokens.expect("(");
    const args: Expression[] = [];
    const keywords: { name: string; value: Expression }[] = [];
    let rest: Expression | undefined;
    let keywordRest: Expression | undefined;
    const require = (condition: boolean) => {
      if (!condition) {
        tokens.fail("the arguments of a call must be values, then names with values, '*' and '**'", at);
      }
    };
    for (let isFirst = true; !tokens.is(")"); isFirst = false) {
      if (!isFirst) tokens.expect(",");
      if (tokens.is(")")) break;
      if (tokens.skipIf("*")) {
        require(rest === undefined && keywordRest === undefined);
        rest = this.parseExpression();
      } else if (tokens.skipIf("**")) {
        require(keywordRest === undefined);
        keywordRest = this.parseExpression();
      } else if (tokens.is("name") && tokens.following.type === "=") {
        require(keywordRest === undefined);
        const name = tokens.next().value as string;
        tokens.next();
        if (keywords.some((other) => other.name === name)) {
          tokens.fail(`the argument '${name}' is given twice`, at);
        }
        keywords.push({ name, value: this.parseExpression() });
      } else {
        require(rest === undefined && keywordRest === undefined && keywords.length === 0);
        args.push(this.parseExpression());
      }
    }
    tokens.expect(")");
    return { args, keywords, rest, keywordRest };
  }

  /** Parses filters after a value. Without a value, they are those of a block; `isBlock` then means that one must follow. */
  protected parseFilters(value: Expression | undefined, isBlock = false): Expression | undefined {
    let node = value;
    for (let isFirst = isBlock; isFirst || this.tokens.skipIf("|"); isFirst = false) {
      const { name, at } = this.#parseDottedName();
      const args = this.tokens.is("(") ? this.#parseArguments() : NO_ARGUMENTS;
      node = { kind: "filter", value: node, name, ...args, at } satisfies FilterNode;
    }
    return node;
  }

  #parseTest(value: Expression): Expression {
    const { tokens } = this;
    tokens.next();
    const isNegated = tokens.skipIfName("not");
    const { name, at } = this.#parseDottedName();
    const test: Expression = { kind: "test", value, name, ...this.#parseTestArguments(), at };
    return isNegated ? { kind: "not", value: test, at } : test;
  }

  #parseTestArguments(): CallArguments {
    const { tokens } = this;
    if (tokens.is("(")) return this.#parseArguments();
    if (!ARGUMENT_STARTS.has(tokens.current.type) || tokens.isName("else", "or", "and")) return NO_ARGUMENTS;
    if (tokens.isName("is")) tokens.fail("a test must not follow a test: use parentheses");
    return { ...NO_ARGUMENTS, args: [this.#parsePostfix(this.parsePrimary())] };
  }

  #parseDottedName(): { name: string; at: number } {
    const { value, at } = this.tokens.expect("name");
    let name = value as string;
    while (this.tokens.skipIf(".")) name += `.${this.tokens.expect("name").value}`;
    return { name, at };
  }
}

const NO_ARGUMENTS: CallArguments = { args: [], keywords: [], rest: undefined, keywordRest: undefined };
