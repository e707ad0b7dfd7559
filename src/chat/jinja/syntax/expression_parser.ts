import type { BinaryOperator, CompareOperator, Expression } from "./nodes.ts";
import { OperandParser, type TupleOptions } from "./operand_parser.ts";
import { describe } from "./token_stream.ts";

const COMPARE: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);

/**
 * Parses expressions with the precedence of Jinja2, from weak to strong: `if`, `or`, `and`, `not`, comparisons, `+` and
 * `-`, `~`, `*` `/` `//` `%`, `**`, signs, then attributes, calls, filters and tests. A sign binds stronger than `**`
 * and weaker than an attribute; `-x|abs` is `(-x)|abs`.
 */
export class ExpressionParser extends OperandParser {
  /** Parses an expression. `for` and `if` allow none with an inline `if`. */
  override parseExpression(withConditional = true): Expression {
    return withConditional ? this.#parseConditional() : this.#parseOr();
  }

  /** Parses an expression, or a tuple without parentheses. */
  override parseTuple(options: TupleOptions = {}): Expression {
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
    node = this.parsePostfix(node);
    return withFilters ? this.parseFiltersAndTests(node) : node;
  }
}
