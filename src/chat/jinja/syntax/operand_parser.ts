import type { CallArguments, Expression, FilterNode } from "./nodes.ts";
import { describe, type TokenStream } from "./token_stream.ts";

const CONSTANTS: Readonly<Record<string, boolean | null>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
};
const ARGUMENT_STARTS: ReadonlySet<string> = new Set(["name", "string", "integer", "float", "[", "{"]);

const NO_ARGUMENTS: CallArguments = { args: [], keywords: [], rest: undefined, keywordRest: undefined };

/** Options of {@linkcode OperandParser.parseTuple}. */
export interface TupleOptions {
  /** Parser of an item. */
  readonly item?: () => Expression;
  /** Name that ends the tuple, besides the end of a tag and `)`. */
  readonly end?: string | undefined;
  /** True inside parentheses, where nothing is an empty tuple. */
  readonly inParentheses?: boolean;
}

/**
 * Parses operands: names, literals and expressions in brackets, with the attributes, subscripts, calls, filters and
 * tests behind them.
 */
export abstract class OperandParser {
  constructor(protected readonly tokens: TokenStream) {}

  /** Parses an expression; without an inline `if` where that begins something else. */
  abstract parseExpression(withConditional?: boolean): Expression;

  /** Parses an expression, or a tuple without parentheses. */
  abstract parseTuple(options?: TupleOptions): Expression;

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
        while (tokens.is("string")) text += tokens.next().value; // literals beside each other are a single string
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

  protected parsePostfix(start: Expression): Expression {
    let node = start;
    for (;;) {
      if (this.tokens.is(".")) node = this.#parseAttribute(node);
      else if (this.tokens.is("[")) node = this.#parseSubscript(node);
      else if (this.tokens.is("(")) node = this.#parseCall(node);
      else return node;
    }
  }

  protected parseFiltersAndTests(start: Expression): Expression {
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
    const check = (condition: boolean) => {
      if (!condition) {
        tokens.fail("the arguments of a call must be values, then names with values, '*' and '**'", at);
      }
    };
    for (let isFirst = true; !tokens.is(")"); isFirst = false) {
      if (!isFirst) tokens.expect(",");
      if (tokens.is(")")) break;
      if (tokens.skipIf("*")) {
        check(rest === undefined && keywordRest === undefined);
        rest = this.parseExpression();
      } else if (tokens.skipIf("**")) {
        check(keywordRest === undefined);
        keywordRest = this.parseExpression();
      } else if (tokens.is("name") && tokens.following.type === "=") {
        check(keywordRest === undefined);
        const name = tokens.next().value as string;
        tokens.next();
        if (keywords.some((other) => other.name === name)) {
          tokens.fail(`the argument '${name}' is given twice`, at);
        }
        keywords.push({ name, value: this.parseExpression() });
      } else {
        check(rest === undefined && keywordRest === undefined && keywords.length === 0);
        args.push(this.parseExpression());
      }
    }
    tokens.expect(")");
    return { args, keywords, rest, keywordRest };
  }

  /**
   * Parses filters after a value. Without a value, the filters belong to a block; `isBlock` then means that a filter must
   * follow.
   */
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
    return { ...NO_ARGUMENTS, args: [this.parsePostfix(this.parsePrimary())] };
  }

  #parseDottedName(): { name: string; at: number } {
    const { value, at } = this.tokens.expect("name");
    let name = value as string;
    while (this.tokens.skipIf(".")) name += `.${this.tokens.expect("name").value}`;
    return { name, at };
  }
}
