import { type Draw, until } from "./draw.ts";
import type { Family, ReplyProblem, Verdict } from "./family.ts";
import { add, divide, isEqual, multiply, type Rational, rational, subtract } from "./rational.ts";

type Operator = "+" | "-" | "*" | "/";

/** An expression with the value. */
interface Term {
  readonly text: string;
  readonly value: Rational;
}

/** Longest expression that is parsed, in characters. */
const MAX_CHARACTERS = 400;

/** Reach a target with each of some numbers once. Difficulty adds numbers and makes them larger. */
export const countdown: Family = {
  about: "an expression over given numbers that reaches a target",
  version: 1,
  kind: "reply",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const count = 3 + Math.floor((difficulty + 1) / 2);
  const numbers = Array.from({ length: count }, () => draw.int(2, 12 + 8 * difficulty));
  const solution = combineAll(draw, numbers, steps);
  if (solution === undefined) return undefined;
  const target = solution.value.numerator;
  const sum = numbers.reduce((total, number) => total + number, 0);
  const product = numbers.reduce((total, number) => total * number, 1);
  // the sum and the product of all need no search
  if (target < 10n || target > 5_000n || target === BigInt(sum) || target === BigInt(product)) {
    return undefined;
  }
  return {
    kind: "reply",
    query:
      `Write an expression with the value ${target} that uses each of the numbers ${numbers.join(", ")} ` +
      "exactly once, and otherwise only +, -, *, / and parentheses.",
    solution: withoutOuter(solution.text),
    copies: [String(target), numbers.join(", "), numbers.join(" + ")],
    guess: (draw) => withoutOuter(combineAll(draw, numbers, anyStep)?.text ?? String(numbers[0])),
    check: (answer) => check(answer, { target: rational(target), numbers }),
  };
}

/** Joins random terms until a single term is left; undefined if two terms have no joint result. */
function combineAll(
  draw: Draw,
  numbers: readonly number[],
  choices: (one: Term, other: Term) => Term[],
): Term | undefined {
  const terms = numbers.map((number): Term => ({ text: String(number), value: rational(number) }));
  for (;;) {
    const [first, second, ...rest] = draw.shuffle(terms.splice(0));
    if (first === undefined || second === undefined) return first;
    const results = choices(first, second);
    if (results.length === 0) return undefined;
    terms.push(draw.pick(results), ...rest);
  }
}

/** Returns the results of two terms that are integers above 1. */
function steps(one: Term, other: Term): Term[] {
  return anyStep(one, other).filter(({ value }) =>
    value.denominator === 1n && value.numerator > 1n && value.numerator <= 10_000n
  );
}

function anyStep(one: Term, other: Term): Term[] {
  const operators: readonly Operator[] = ["+", "-", "*", "/"];
  return operators.flatMap((operator) => {
    const value = apply(operator, one.value, other.value);
    return value === undefined ? [] : [{ text: `(${one.text} ${operator} ${other.text})`, value }];
  });
}

function apply(operator: Operator, one: Rational, other: Rational): Rational | undefined {
  switch (operator) {
    case "+":
      return add(one, other);
    case "-":
      return subtract(one, other);
    case "*":
      return multiply(one, other);
    case "/":
      return divide(one, other);
  }
}

function withoutOuter(text: string): string {
  return text.startsWith("(") ? text.slice(1, -1) : text;
}

function check(
  answer: string,
  { target, numbers }: { target: Rational; numbers: readonly number[] },
): Verdict {
  if (answer.length > MAX_CHARACTERS) return "malformed";
  const parser = new ExpressionParser(answer);
  const value = parser.parse();
  if (value === undefined) return "malformed";
  const isUsed = parser.numbers.toSorted(ascending).join() === numbers.toSorted(ascending).join();
  return isUsed && isEqual(value, target) ? "right" : "wrong";
}

function ascending(one: number, other: number): number {
  return one - other;
}

/** Parses an expression exactly. Each method returns undefined for what is no expression. */
class ExpressionParser {
  readonly numbers: number[] = [];
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = text.match(/\d+|\S/g) ?? [];
  }

  parse(): Rational | undefined {
    const value = this.#chain(["+", "-"], () => this.#chain(["*", "/"], () => this.#operand()));
    return this.#at === this.#tokens.length ? value : undefined;
  }

  #chain(operators: readonly Operator[], operand: () => Rational | undefined): Rational | undefined {
    let left = operand();
    while (left !== undefined) {
      const operator = operators.find((sign) => sign === this.#tokens[this.#at]);
      if (operator === undefined) return left;
      this.#at++;
      const right = operand();
      left = right && apply(operator, left, right);
    }
    return undefined;
  }

  #operand(): Rational | undefined {
    const token = this.#tokens[this.#at++] ?? "";
    if (token === "(") {
      const inner = this.#chain(["+", "-"], () => this.#chain(["*", "/"], () => this.#operand()));
      return this.#tokens[this.#at++] === ")" ? inner : undefined;
    }
    if (!/^\d{1,9}$/.test(token)) return undefined;
    this.numbers.push(Number(token));
    return rational(Number(token));
  }
}
