type Operator = "+" | "-" | "*" | "/";

/** The syntax tree of an arithmetic expression, with the value of each node. */
export type Arithmetic =
  | { readonly kind: "number"; readonly text: string; readonly value: number }
  | { readonly kind: "negative"; readonly operand: Arithmetic; readonly value: number }
  | {
    readonly kind: "binary";
    readonly operator: Operator;
    readonly left: Arithmetic;
    readonly right: Arithmetic;
    readonly value: number;
  };

/** Maximum nesting depth, which bounds the recursion on hostile input. */
const MAX_DEPTH = 50;
const NUMBER = /^(?:\d[\d,]*(?:\.\d*)?|\.\d+)$/;
const TOKENS = /\d[\d,]*(?:\.\d*)?|\.\d+|[-+*/()%]|\S/g;
const SIGNS: Readonly<Record<string, string>> = { x: "*", "×": "*", "÷": "/", "−": "-", "–": "-" };

/**
 * Parses an arithmetic expression of `+ - * / ( )` as people write expressions: `$5 x 1,200`, `.5*05`, `20%*3`. Words
 * and currency signs are ignored. Returns `null` if the text is not such an expression or has no finite
 * value.
 */
export function parseArithmetic(text: string): Arithmetic | null {
  const parser = new Parser(tokensOf(text));
  const parsed = parser.sum(0);
  return parsed !== null && parser.atEnd && Number.isFinite(parsed.value) ? parsed : null;
}

function tokensOf(text: string): string[] {
  const tokens = text.toLowerCase().replace(/[a-wyz]*[a-z]{2,}|[a-wyz$€£]/g, " ").match(TOKENS) ?? [];
  return tokens.map((token) => SIGNS[token] ?? token);
}

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  get atEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  sum(depth: number): Arithmetic | null {
    return depth > MAX_DEPTH ? null : this.#chain(["+", "-"], () => this.#product(depth));
  }

  #product(depth: number): Arithmetic | null {
    return this.#chain(["*", "/"], () => this.#operand(depth));
  }

  #chain(operators: readonly Operator[], operand: () => Arithmetic | null): Arithmetic | null {
    let left = operand();
    while (left !== null) {
      const operator = operators.find((sign) => this.#take(sign));
      if (operator === undefined) return left;
      const right = operand();
      left = right && binary(operator, left, right);
    }
    return null;
  }

  #operand(depth: number): Arithmetic | null {
    if (depth > MAX_DEPTH) return null;
    if (this.#take("+")) return this.#operand(depth + 1);
    if (this.#take("-")) return negative(this.#operand(depth + 1));
    const operand = this.#take("(") ? this.#group(depth + 1) : this.#number();
    return operand !== null && this.#take("%") ? binary("/", operand, numberOf("100")) : operand;
  }

  #group(depth: number): Arithmetic | null {
    const inner = this.sum(depth);
    return this.#take(")") ? inner : null;
  }

  #number(): Arithmetic | null {
    const token = this.#tokens[this.#at] ?? "";
    if (!NUMBER.test(token)) return null;
    this.#at++;
    return numberOf(token);
  }

  #take(sign: string): boolean {
    const taken = this.#tokens[this.#at] === sign;
    if (taken) this.#at++;
    return taken;
  }
}

function numberOf(token: string): Arithmetic {
  const plain = token.replaceAll(",", "").replace(/\.$/, "").replace(/^0+(?=\d)/, "").replace(/^\./, "0.");
  return { kind: "number", text: plain, value: Number(plain) };
}

function negative(operand: Arithmetic | null): Arithmetic | null {
  return operand && { kind: "negative", operand, value: -operand.value };
}

function binary(operator: Operator, left: Arithmetic, right: Arithmetic): Arithmetic {
  return { kind: "binary", operator, left, right, value: calculate(operator, left.value, right.value) };
}

function calculate(operator: Operator, left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return left / right;
  }
}
