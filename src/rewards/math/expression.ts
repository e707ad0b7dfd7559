import {
  add,
  apply,
  type Exact,
  exactOf,
  factorial,
  floatOf,
  invert,
  isFraction,
  multiply,
  negate,
  raise,
} from "./exact.ts";
import { isName, tokensOf } from "./latex.ts";

/** Evaluates an expression with the given values of its variables. */
export type Expression = (variables: (name: string) => Exact) => Exact;

/** Limits of an expression, in characters and nesting. */
const MAX_CHARACTERS = 1_000;
const MAX_DEPTH = 60;
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "{": "}", "[": "]" };

/** Parses an expression in LaTeX or plain text; `null` if it is not valid. Nothing is executed. */
export function parseExpression(text: string): Expression | null {
  if (text.length > MAX_CHARACTERS) return null;
  const tokens = tokensOf(text);
  if (tokens === null || tokens.length === 0) return null;
  const parser = new Parser(tokens);
  const parsed = parser.sum(0);
  return parser.atEnd ? parsed : null;
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

  sum(depth: number): Expression | null {
    if (depth > MAX_DEPTH) return null;
    let left = this.#signed(depth);
    while (left !== null && (this.#next === "+" || this.#next === "-")) {
      const right = this.#signed(depth);
      left = right && combine(add, left, right);
    }
    return left;
  }

  get #next(): string | undefined {
    return this.#tokens[this.#at];
  }

  /** Parses a product with an optional sign. */
  #signed(depth: number): Expression | null {
    const isNegative = this.#take("-");
    if (!isNegative) this.#take("+");
    const product = this.#product(depth + 1);
    return product && isNegative ? negateExpression(product) : product;
  }

  #product(depth: number): Expression | null {
    let left = this.#power(depth);
    while (left !== null) {
      const divides = this.#take("/");
      if (!divides && !this.#take("*") && !this.#startsOperand()) return left;
      const right = this.#take("-") ? negateIfParsed(this.#power(depth)) : this.#power(depth);
      left = right && combine(multiply, left, divides ? mapExpression(invert, right) : right);
    }
    return null;
  }

  /** Returns true if an implicit product follows. Digits after digits are not one. */
  #startsOperand(): boolean {
    const next = this.#next ?? "";
    if (/^[\d.]/.test(next)) return !/^[\d.]/.test(this.#tokens[this.#at - 1] ?? "");
    return /^\\?[a-zA-Z]|^[({[]/.test(next);
  }

  #power(depth: number): Expression | null {
    if (depth > MAX_DEPTH) return null;
    let base = this.#operand(depth);
    while (base !== null && this.#take("!")) base = mapExpression(factorial, base);
    if (base === null || !this.#take("^")) return base;
    const exponent = this.#take("-") ? negateIfParsed(this.#power(depth + 1)) : this.#power(depth + 1);
    return exponent && combine(raise, base, exponent);
  }

  #operand(depth: number): Expression | null {
    const token = this.#next ?? "";
    if (CLOSING[token] !== undefined) return this.#group(depth);
    if (token === "|") return this.#absolute(depth);
    this.#at++;
    if (/^[\d.]/.test(token)) return constant(exactOf(token));
    if (isName(token)) return this.#nameValue(token, depth + 1);
    return /^\\?[a-zA-Z]/.test(token) ? (variables) => variables(token) : null;
  }

  #group(depth: number): Expression | null {
    const closing = CLOSING[this.#next ?? ""];
    if (closing === undefined) return null;
    this.#at++;
    const inner = this.sum(depth + 1);
    return this.#take(closing) ? inner : null;
  }

  /** Parses `|x|`. Its content is never empty, so the second bar always closes it. */
  #absolute(depth: number): Expression | null {
    this.#at++;
    const inner = this.sum(depth + 1);
    if (inner === null || !this.#take("|")) return null;
    return mapExpression((value) => floatOf(value) < 0 ? negate(value) : value, inner);
  }

  #nameValue(name: string, depth: number): Expression | null {
    switch (name) {
      case "pi":
        return constant(Math.PI);
      case "frac":
        return this.#pair(depth, (numerator, denominator) => multiply(numerator, invert(denominator)));
      case "binom":
        return this.#pair(depth, binomial);
      case "sqrt":
        return this.#root(depth);
      case "log":
        return this.#logarithm(depth);
      default:
        return this.#function(name, depth);
    }
  }

  #pair(depth: number, make: (first: Exact, second: Exact) => Exact): Expression | null {
    const first = this.#argument(depth);
    const second = first && this.#argument(depth);
    return first && second && combine(make, first, second);
  }

  #root(depth: number): Expression | null {
    const degree = this.#next === "[" ? this.#group(depth) : constant(exactOf("2"));
    const operand = degree && this.#argument(depth);
    return degree && operand && combine(takeRoot, operand, degree);
  }

  #logarithm(depth: number): Expression | null {
    const base = this.#take("_") ? this.#argument(depth) : constant(exactOf("10"));
    const operand = base && this.#power(depth);
    return base && operand && combine(logarithm, operand, base);
  }

  /** Parses `sin x`, `sin(x)` and `sin^2 x`. */
  #function(name: string, depth: number): Expression | null {
    const exponent = this.#take("^") ? this.#argument(depth) : constant(exactOf("1"));
    const operand = exponent && this.#power(depth);
    const make = FUNCTIONS[name];
    if (!exponent || !operand || make === undefined) return null;
    return combine(raise, mapExpression((x) => apply(make, x), operand), exponent);
  }

  /** Parses a group or a single token. */
  #argument(depth: number): Expression | null {
    return CLOSING[this.#next ?? ""] === undefined ? this.#operand(depth) : this.#group(depth);
  }

  #take(token: string): boolean {
    const taken = this.#next === token;
    if (taken) this.#at++;
    return taken;
  }
}

function logarithm(value: Exact, base: Exact): Exact {
  return multiply(apply(Math.log, value), invert(apply(Math.log, base)));
}

function constant(value: Exact): Expression {
  return () => value;
}

function mapExpression(make: (value: Exact) => Exact, inner: Expression): Expression {
  return (variables) => make(inner(variables));
}

function combine(make: (a: Exact, b: Exact) => Exact, left: Expression, right: Expression): Expression {
  return (variables) => make(left(variables), right(variables));
}

function negateExpression(inner: Expression): Expression {
  return mapExpression(negate, inner);
}

function negateIfParsed(inner: Expression | null): Expression | null {
  return inner && negateExpression(inner);
}

/** Functions of one number, by name. Their results are never exact. */
const FUNCTIONS: Readonly<Record<string, (x: number) => number>> = {
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  cot: (x) => 1 / Math.tan(x),
  sec: (x) => 1 / Math.cos(x),
  csc: (x) => 1 / Math.sin(x),
  arcsin: Math.asin,
  arccos: Math.acos,
  arctan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  ln: Math.log,
  exp: Math.exp,
};

/** Returns a root; it is exact if it is an integer or a fraction of integers. */
function takeRoot(value: Exact, degree: Exact): Exact {
  const [x, n] = [floatOf(value), floatOf(degree)];
  const isOdd = Math.abs(n % 2) === 1;
  const [size, share] = [x < 0 && isOdd ? negate(value) : value, invert(degree)];
  const guess = size === value ? raise(size, share) : negate(raise(size, share));
  if (!isFraction(value) || !Number.isInteger(n)) return guess;
  const exact = nearFraction(floatOf(guess), value.denominator, n);
  const again = exact && raise(exact, degree);
  const isExact = again !== null && isFraction(again) && again.numerator === value.numerator &&
    again.denominator === value.denominator;
  return exact !== null && isExact ? exact : guess;
}

/** Returns the fraction nearest to a root, with the root of the denominator. */
function nearFraction(guess: number, denominator: bigint, degree: number): Exact | null {
  const line = Math.round(Number(denominator) ** (1 / degree));
  const numerator = Math.round(guess * line);
  if (!Number.isSafeInteger(line) || !Number.isSafeInteger(numerator) || line === 0) return null;
  const size = multiply(exactOf(String(Math.abs(numerator))), invert(exactOf(String(line))));
  return numerator < 0 ? negate(size) : size;
}

/** Returns the binomial coefficient of `n` and `k`; NaN unless both are integers in range. */
export function binomial(n: Exact, k: Exact): Exact {
  const [all, chosen] = [floatOf(n), floatOf(k)];
  if (!Number.isInteger(all) || !Number.isInteger(chosen) || chosen < 0 || chosen > all || all > 1_000) {
    return NaN;
  }
  let product: Exact = exactOf("1");
  for (let i = 1; i <= chosen; i++) {
    product = multiply(product, multiply(exactOf(String(all - chosen + i)), invert(exactOf(String(i)))));
  }
  return product;
}
