import { type ArrayName, AwkSyntaxError, BUILTINS, type Expression, type Place } from "./syntax.ts";
import { type Token, TokenReader } from "./lexer.ts";

/** What an expression may not contain where it stands. */
export interface Context {
  /** `>` begins a redirection. */
  readonly noGreater?: boolean;
  /** `in` belongs to a loop. */
  readonly noIn?: boolean;
  /** `|` begins a redirection. */
  readonly noPipe?: boolean;
}

/** An expression that may contain everything. */
export const NO_LIMITS: Context = {};
const ASSIGNMENTS = new Set(["=", "+=", "-=", "*=", "/=", "%=", "^=", "**="]);
const COMPARISONS = new Set(["<", "<=", "==", "!=", ">", ">="]);
/** Signs that begin an operand, so that two operands beside each other are joined. `+` and `-` are operators there. */
const OPERAND_SIGNS = new Set(["$", "!", "(", "++", "--"]);

/** Reads the expressions of a program. */
export class ExpressionParser extends TokenReader {
  /** Calls of the program's functions. */
  protected readonly calls: Token[] = [];

  protected expression(context: Context = NO_LIMITS): Expression {
    return this.nested(() => {
      const left = this.choice(context);
      const { text } = this.token;
      if (this.token.kind !== "sign" || !ASSIGNMENTS.has(text)) return left;
      const place = lastPlace(left);
      if (place === undefined) return this.fail();
      this.advance();
      this.skipNewlines();
      const value = this.expression(context);
      return place.rebuild({ kind: "assign", operator: text, place: place.place, value });
    });
  }

  protected choice(context: Context, isLabel = false): Expression {
    const condition = this.#or(context);
    if (!this.is("?") || isLabel) return condition;
    this.advance();
    this.skipNewlines();
    const yes = this.expression(context);
    this.skipNewlines();
    this.expect(":");
    this.skipNewlines();
    return { kind: "choice", condition, yes, no: this.expression(context) };
  }

  #or(context: Context): Expression {
    let left = this.#and(context);
    while (this.is("||")) {
      this.advance();
      this.skipNewlines();
      left = { kind: "or", left, right: this.#assigned(this.#and(context), context) };
    }
    return left;
  }

  #and(context: Context): Expression {
    let left = this.#membership(context);
    while (this.is("&&")) {
      this.advance();
      this.skipNewlines();
      left = { kind: "and", left, right: this.#assigned(this.#membership(context), context) };
    }
    return left;
  }

  /** An assignment as an operand, as in `a && b = c`. */
  #assigned(operand: Expression, context: Context): Expression {
    const { kind, text } = this.token;
    if (kind !== "sign" || !ASSIGNMENTS.has(text) || !isPlace(operand)) return operand;
    this.advance();
    this.skipNewlines();
    return { kind: "assign", operator: text, place: operand, value: this.expression(context) };
  }

  #membership(context: Context): Expression {
    let left = this.#matching(context);
    while (this.isKeyword("in") && !context.noIn) {
      this.advance();
      const keys = left.kind === "list" ? left.items : [left];
      left = this.#matching(context, { kind: "in", keys, array: this.arrayName() });
    }
    return left;
  }

  #matching(context: Context, start?: Expression): Expression {
    let text = this.#comparison(context, start);
    while (this.is("~") || this.is("!~")) {
      const isNegated = this.advance().text === "!~";
      text = { kind: "match", isNegated, text, pattern: this.#comparison(context) };
    }
    return text;
  }

  #comparison(context: Context, start?: Expression): Expression {
    let left = start ?? this.concat(context);
    for (let isCompared = false;;) {
      const { kind, text } = this.token;
      if (kind === "sign" && COMPARISONS.has(text) && !(text === ">" && context.noGreater)) {
        if (isCompared) this.fail(); // `a == b == c` has no meaning
        isCompared = true;
        this.advance();
        left = { kind: "binary", operator: text, left, right: this.concat(context) };
      } else if ((this.is("|") || this.is("|&")) && !context.noPipe) {
        const from = this.advance().text === "|" ? "command" : "coprocess";
        if (!this.isKeyword("getline")) this.fail();
        this.advance();
        left = { kind: "getline", from, source: left, ...this.#getlinePlace() };
      } else return left;
    }
  }

  protected concat(context: Context): Expression {
    let left = this.#additive(context);
    while (this.#beginsOperand(context)) {
      left = { kind: "binary", operator: "concat", left, right: this.#additive(context) };
    }
    return left;
  }

  #beginsOperand(context: Context): boolean {
    const { kind, text } = this.token;
    if (kind === "sign") return OPERAND_SIGNS.has(text);
    if (kind === "keyword") return false;
    if (context.noIn && text === "in") return false;
    return kind === "number" || kind === "text" || kind === "name" || kind === "call" || kind === "builtin";
  }

  #additive(context: Context): Expression {
    let left = this.#multiplicative(context);
    while (this.is("+") || this.is("-")) {
      const operator = this.advance().text;
      left = { kind: "binary", operator, left, right: this.#multiplicative(context) };
    }
    return left;
  }

  #multiplicative(context: Context): Expression {
    let left = this.#unary(context);
    while (this.is("*") || this.is("/") || this.is("%")) {
      const operator = this.advance().text;
      const right = this.#unary(context);
      if (operator !== "*" && left.kind === "number" && right.kind === "number" && right.value === 0) {
        throw new AwkSyntaxError("division by zero attempted", this.token);
      }
      left = { kind: "binary", operator, left, right };
    }
    return left;
  }

  #unary(context: Context): Expression {
    return this.nested(() => {
      for (const operator of ["!", "-", "+"] as const) {
        if (!this.is(operator)) continue;
        this.advance();
        const operand = this.#assigned(this.#unary(context), context);
        return { kind: "unary", operator, operand };
      }
      return this.#power(context);
    });
  }

  #power(context: Context): Expression {
    const left = this.#postfix(context);
    if (!this.is("^") && !this.is("**")) return left;
    this.advance();
    const isSigned = this.is("-") || this.is("+") || this.is("!");
    const right = isSigned ? this.#unary(context) : this.#power(context);
    return { kind: "binary", operator: "^", left, right };
  }

  #postfix(context: Context): Expression {
    const operand = this.operand(context);
    if (!isPlace(operand) || !this.is("++") && !this.is("--")) return operand;
    const by = this.advance().text === "++" ? 1 : -1;
    return { kind: "step", by, isPrefix: false, place: operand };
  }

  protected operand(context: Context): Expression {
    return this.nested(() => this.#readOperand(context));
  }

  #readOperand(context: Context): Expression {
    const token = this.token;
    switch (token.kind) {
      case "number":
        this.advance();
        return {
          kind: "number",
          value: /^0[0-7]+$/.test(token.text) ? parseInt(token.text, 8) : Number(token.text),
        };
      case "text":
        this.advance();
        return { kind: "text", value: token.text };
      case "name":
        this.advance();
        return this.#subscripts({ kind: "name", name: token.text });
      case "call": {
        this.calls.push(this.advance());
        return { kind: "call", name: token.text, args: this.#arguments() };
      }
      case "builtin":
        return this.#builtin();
      case "keyword":
        if (token.text !== "getline") return this.fail();
        this.advance();
        return this.#getline();
    }
    switch (token.text) {
      case "$": {
        this.advance();
        const isStep = this.is("++") || this.is("--");
        const index = isStep || this.is("-") || this.is("+") || this.is("!")
          ? this.#unary(context)
          : this.operand(context);
        return { kind: "field", index };
      }
      case "++":
      case "--": {
        this.advance();
        const place = this.operand(context);
        if (!isPlace(place)) return this.fail();
        return { kind: "step", by: token.text === "++" ? 1 : -1, isPrefix: true, place };
      }
      case "(":
        return this.#parenthesized();
      case "/":
      case "/=": {
        const source = this.lexer.regex(token);
        this.token = this.lexer.next();
        return { kind: "regex", source };
      }
      case "-":
      case "+":
      case "!":
        return this.#unary(context);
    }
    return this.fail();
  }

  #parenthesized(): Expression {
    this.advance();
    this.skipNewlines();
    const items = [this.expression()];
    this.skipNewlines();
    while (this.is(",")) {
      this.advance();
      this.skipNewlines();
      items.push(this.expression());
      this.skipNewlines();
    }
    this.expect(")");
    return items.length > 1 ? { kind: "list", items } : { kind: "group", inner: items[0] as Expression };
  }

  #builtin(): Expression {
    const { text: name } = this.advance();
    const hasArguments = this.is("(");
    if (!hasArguments && name !== "length") this.fail();
    const args = hasArguments ? this.#arguments() : [];
    const [least, most] = BUILTINS[name] ?? [0, 0];
    if (args.length < least || args.length > most) {
      throw new AwkSyntaxError(`${args.length} is invalid as number of arguments for ${name}`, this.token);
    }
    return { kind: "builtin", name, args };
  }

  #arguments(): Expression[] {
    this.expect("(");
    this.skipNewlines();
    const args: Expression[] = [];
    while (!this.is(")")) {
      args.push(this.expression());
      this.skipNewlines();
      if (!this.is(")")) this.expect(",");
      this.skipNewlines();
    }
    this.advance();
    return args;
  }

  #getline(): Expression {
    const target = this.#getlinePlace();
    if (!this.is("<")) return { kind: "getline", from: "input", ...target };
    this.advance();
    return { kind: "getline", from: "file", source: this.#postfix(NO_LIMITS), ...target };
  }

  #getlinePlace(): { place?: Place } {
    const { kind } = this.token;
    if (kind !== "name" && !this.is("$")) return {};
    const place = this.operand(NO_LIMITS);
    return isPlace(place) ? { place } : this.fail();
  }

  #subscripts(name: ArrayName): Place {
    let place: ArrayName = name;
    while (this.is("[")) {
      this.advance();
      const keys = [this.expression()];
      while (this.is(",")) {
        this.advance();
        this.skipNewlines();
        keys.push(this.expression());
      }
      this.expect("]");
      place = { kind: "element", array: place, keys };
    }
    return place;
  }

  protected arrayName(): ArrayName {
    if (this.token.kind !== "name") this.fail();
    const place = this.#subscripts({ kind: "name", name: this.advance().text });
    return place.kind === "field" ? this.fail() : place;
  }
}

/** True for what can be assigned to. */
export function isPlace(expression: Expression): expression is Place {
  return expression.kind === "name" || expression.kind === "field" || expression.kind === "element";
}

/**
 * Finds the place to which an assignment behind an expression belongs: in `$1 ~ x = y` and `a b = c` the last operand.
 * `rebuild` returns the expression with the assignment there.
 */
function lastPlace(
  expression: Expression,
): { place: Place; rebuild: (assignment: Expression) => Expression } | undefined {
  if (isPlace(expression)) return { place: expression, rebuild: (assignment) => assignment };
  const last = (operand: Expression, rebuild: (operand: Expression) => Expression) => {
    const found = lastPlace(operand);
    return found &&
      { place: found.place, rebuild: (assignment: Expression) => rebuild(found.rebuild(assignment)) };
  };
  switch (expression.kind) {
    case "binary":
      return last(expression.right, (right) => ({ ...expression, right }));
    case "match":
      return last(expression.pattern, (pattern) => ({ ...expression, pattern }));
    case "unary":
      return last(expression.operand, (operand) => ({ ...expression, operand }));
    case "choice":
      return last(expression.no, (no) => ({ ...expression, no }));
    default:
      return undefined;
  }
}
