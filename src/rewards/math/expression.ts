import {
  add,
  apply,
  doubleFactorial,
  type Exact,
  exactOf,
  factorial,
  floatOf,
  invert,
  multiply,
  negate,
  raise,
} from "./exact.ts";
import { binomial, FUNCTIONS, INVERSES, logarithm, ROUNDINGS, takeRoot } from "./functions.ts";
import { isName, tokensOf } from "./latex.ts";

/** Evaluates an expression with the given values of variables. */
export type Expression = (variables: (name: string) => Exact) => Exact;

/** Limits of an expression, in characters and nesting. */
const MAX_CHARACTERS = 1_000;
const MAX_DEPTH = 60;
const CLOSING: Readonly<Record<string, string>> = {
  "(": ")",
  "{": "}",
  "[": "]",
  "lfloor": "rfloor",
  "lceil": "rceil",
};
/** Letters of functions: `f(2)` and `P(A)` are values of a function, while `x(2)` and `P(1+r)` are products. */
const FUNCTION_LETTER = /^[fghFGHpqPEVn]$/;

/** Parses an expression in LaTeX or plain text; `null` if invalid. Nothing is executed. */
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
      const factor = () =>
        divides && this.#startsFunctionValue() ? this.#functionValue(depth) : this.#power(depth);
      const right = this.#take("-") ? negateIfParsed(factor()) : factor();
      left = right && combine(multiply, left, divides ? mapExpression(invert, right) : right);
    }
    return null;
  }

  /** Returns true for `f(x)`, by all of which a preceding `/` divides. */
  #startsFunctionValue(): boolean {
    return /^[fgh]$/i.test(this.#next ?? "") && this.#tokens[this.#at + 1] === "(";
  }

  #functionValue(depth: number): Expression | null {
    const name = this.#operand(depth);
    const argument = name && (this.#next === "(" ? this.#group(depth) : constant(exactOf("1")));
    return name && argument && combine(multiply, name, argument);
  }

  /** Returns true if an implicit product follows. Digits after digits are no product. */
  #startsOperand(): boolean {
    const next = this.#next ?? "";
    if (/^[\d.]/.test(next)) return !/^[\d.]/.test(this.#tokens[this.#at - 1] ?? "");
    return /^\\?[a-zA-Z]|^[({[]/.test(next) && ROUNDINGS[next] === undefined;
  }

  #power(depth: number): Expression | null {
    if (depth > MAX_DEPTH || this.#startsInverseFunction()) return null;
    let base = this.#operand(depth);
    if (base !== null && this.#take("!")) {
      base = mapExpression(this.#take("!") ? doubleFactorial : factorial, base);
    }
    if (base === null || !this.#take("^")) return base;
    const exponent = this.#take("-") ? negateIfParsed(this.#power(depth + 1)) : this.#power(depth + 1);
    return exponent && combine(raise, base, exponent);
  }

  /** Returns true for `f^{-1}(x)`, which is neither a product nor `1/f(x)`. */
  #startsInverseFunction(): boolean {
    const length = /^[fgh]$/i.test(this.#next ?? "") ? this.#inverseAt(this.#at + 1) : 0;
    return length > 0 && this.#tokens[this.#at + 1 + length] === "(";
  }

  #operand(depth: number): Expression | null {
    const token = this.#next ?? "";
    if (CLOSING[token] !== undefined) return this.#group(depth);
    if (token === "|") return this.#absolute(depth);
    this.#at++;
    if (/^[\d.]/.test(token)) return constant(exactOf(token));
    if (isName(token)) return this.#nameValue(token, depth + 1);
    if (this.#appliesLetter(token)) return this.#letterValue(token, depth);
    return /^\\?[a-zA-Z]/.test(token) ? (variables) => variables(token) : null;
  }

  /**
   * Returns true for `f` in `f(2)`, `f(x+1)` and `f(-x)`, and for another letter of functions before a single name
   * or number.
   */
  #appliesLetter(letter: string): boolean {
    if (!FUNCTION_LETTER.test(letter) || this.#next !== "(") return false;
    const start = this.#tokens[this.#at + 1] === "-" ? this.#at + 2 : this.#at + 1;
    return letter === "f" || this.#tokens[start + 1] === ")";
  }

  /** Parses the argument of `f(2)`, whose value is a separate variable for each value of the argument. */
  #letterValue(letter: string, depth: number): Expression | null {
    const argument = this.#group(depth);
    return argument && ((variables) => {
      const value = floatOf(argument(variables));
      return Number.isNaN(value) ? NaN : variables(`${letter}(${value.toPrecision(9)})`);
    });
  }

  #group(depth: number): Expression | null {
    const closing = CLOSING[this.#next ?? ""];
    if (closing === undefined) return null;
    this.#at++;
    const inner = this.sum(depth + 1);
    if (inner === null || !this.#take(closing)) return null;
    const round = ROUNDINGS[closing];
    return round === undefined ? inner : mapExpression(round, inner);
  }

  /** Parses `|x|`. The content is never empty, so the second bar always closes the first. */
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
    if (this.#takeInverse()) return null;
    const exponent = this.#take("^") ? this.#argument(depth) : constant(exactOf("1"));
    const operand = base && exponent && this.#operandOfFunction(depth);
    return base && exponent && operand && combine(raise, combine(logarithm, operand, base), exponent);
  }

  /** Parses `sin x`, `sin(x)`, `sin^2 x` and `sin^{-1} x`, which is the inverse function. */
  #function(name: string, depth: number): Expression | null {
    const inverse = this.#takeInverse();
    const exponent = !inverse && this.#take("^") ? this.#argument(depth) : constant(exactOf("1"));
    const operand = exponent && this.#operandOfFunction(depth);
    const make = FUNCTIONS[inverse ? INVERSES[name] ?? "" : name];
    if (!exponent || !operand || make === undefined) return null;
    return combine(raise, mapExpression((x) => apply(make, x), operand), exponent);
  }

  /** Parses what a function without brackets applies to: `2x` in `sin 2x cos x`, and `x` in `sin x (x+1)`. */
  #operandOfFunction(depth: number): Expression | null {
    const isGroup = CLOSING[this.#next ?? ""] !== undefined;
    let operand = this.#power(depth);
    while (!isGroup && operand !== null && this.#continuesOperand()) {
      const factor = this.#power(depth);
      operand = factor && combine(multiply, operand, factor);
    }
    return operand;
  }

  #continuesOperand(): boolean {
    const next = this.#next ?? "";
    if (next === "e") return false; // of `sin x e^x`
    return this.#startsOperand() && CLOSING[next] === undefined && next !== "log" &&
      FUNCTIONS[next] === undefined;
  }

  /** Consumes the exponent -1 in any notation. */
  #takeInverse(): boolean {
    const length = this.#inverseAt(this.#at);
    this.#at += length;
    return length > 0;
  }

  /** Returns the number of tokens of an exponent -1 at an index; 0 if there is none. */
  #inverseAt(at: number): number {
    const exponents = [["^", "{", "-", "1", "}"], ["^", "(", "-", "1", ")"], ["^", "-", "1"]];
    return exponents.find((tokens) => tokens.every((token, by) => this.#tokens[at + by] === token))?.length ??
      0;
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
