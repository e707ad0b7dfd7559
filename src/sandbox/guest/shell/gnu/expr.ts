import { type GnuCommand, unicodeText, UsageError } from "./command.ts";
import { compileExpression, findMatch } from "./regular_expression.ts";

const FAILED = 2;
/** Operators of two operands, the weakest first. */
const LEVELS: readonly (readonly string[])[] = [
  ["|"],
  ["&"],
  ["<", "<=", "=", "==", "!=", ">=", ">"],
  ["+", "-"],
  ["*", "/", "%"],
  [":"],
];
const FUNCTION_OPERANDS: Readonly<Record<string, number>> = { match: 2, substr: 3, index: 2, length: 1 };
const MAX_DEPTH = 500;

function fail(message: string): never {
  throw new UsageError(message, { exitCode: FAILED, hasHint: false });
}

const isNumber = (text: string) => /^-?\d+$/.test(text);
const isNull = (text: string) => text === "" || /^-?0+$/.test(text);

function numberOf(text: string): bigint {
  return isNumber(text) ? BigInt(text) : fail("non-integer argument");
}

class Expression {
  readonly #words: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  value(): string {
    const value = this.#level(0, true);
    if (this.#at < this.#words.length) {
      fail(`syntax error: unexpected argument '${unicodeText(this.#words[this.#at] ?? "")}'`);
    }
    return value;
  }

  #level(level: number, isUsed: boolean): string {
    const operators = LEVELS[level];
    if (!operators) return this.#primary(isUsed);
    let left = this.#level(level + 1, isUsed);
    for (;;) {
      const operator = this.#words[this.#at];
      if (operator === undefined || !operators.includes(operator)) return left;
      this.#at++;
      const isNeeded = operator === "|" ? isNull(left) : operator === "&" ? !isNull(left) : true;
      const right = this.#level(level + 1, isUsed && isNeeded);
      left = isUsed ? combine(operator, left, right) : "";
    }
  }

  #primary(isUsed: boolean): string {
    const word = this.#words[this.#at];
    if (word === undefined) {
      fail(`syntax error: missing argument after '${unicodeText(this.#words.at(-1) ?? "")}'`);
    }
    if (++this.#depth > MAX_DEPTH) fail(`more than ${MAX_DEPTH} nested expressions`);
    this.#at++;
    try {
      if (word === "(") {
        const value = this.#level(0, isUsed);
        const end = this.#words[this.#at++];
        if (end === undefined) {
          fail(`syntax error: expecting ')' after '${unicodeText(this.#words.at(-1) ?? "")}'`);
        }
        if (end !== ")") fail(`syntax error: expecting ')' instead of '${unicodeText(end)}'`);
        return value;
      }
      if (word === ")") fail("syntax error: unexpected ')'");
      if (word === "+") {
        return this.#words[this.#at++] ?? fail("syntax error: missing argument after '+'");
      }
      const count = FUNCTION_OPERANDS[word];
      if (count === undefined) return word;
      const operands = Array.from({ length: count }, () => this.#primary(isUsed));
      return isUsed ? callFunction(word, operands) : "";
    } finally {
      this.#depth--;
    }
  }
}

function combine(operator: string, left: string, right: string): string {
  switch (operator) {
    case "|":
      return isNull(left) ? (isNull(right) ? "0" : right) : left;
    case "&":
      return isNull(left) || isNull(right) ? "0" : left;
    case ":":
      return matchOf(left, right);
    case "+":
      return String(numberOf(left) + numberOf(right));
    case "-":
      return String(numberOf(left) - numberOf(right));
    case "*":
      return String(numberOf(left) * numberOf(right));
    case "/":
    case "%": {
      const [top, bottom] = [numberOf(left), numberOf(right)];
      if (bottom === 0n) fail("division by zero");
      return String(operator === "/" ? top / bottom : top % bottom);
    }
    default:
      return compare(operator, left, right) ? "1" : "0";
  }
}

function compare(operator: string, left: string, right: string): boolean {
  const [a, b] = isNumber(left) && isNumber(right) ? [BigInt(left), BigInt(right)] : [left, right];
  if (operator === "<") return a < b;
  if (operator === "<=") return a <= b;
  if (operator === ">") return a > b;
  if (operator === ">=") return a >= b;
  return (operator === "!=") !== (a === b);
}

function matchOf(text: string, pattern: string): string {
  const source = unicodeText(pattern);
  const hasGroup = /(?:^|[^\\])(?:\\\\)*\\\(/.test(source);
  const expression = compileExpression(`^${source.replace(/^\^/, "")}`, "basic");
  const match = findMatch(expression, unicodeText(text), 0);
  if (hasGroup) return utf8Text(match?.[1] ?? "");
  return String([...match?.[0] ?? ""].length);
}

function utf8Text(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

function callFunction(name: string, operands: readonly string[]): string {
  const [first = "", second = "", third = ""] = operands;
  if (name === "match") return matchOf(first, second);
  const signs = [...unicodeText(first)];
  if (name === "length") return String(signs.length);
  if (name === "index") {
    const wanted = [...unicodeText(second)];
    return String(signs.findIndex((sign) => wanted.includes(sign)) + 1);
  }
  if (!isNumber(second) || !isNumber(third)) return "";
  const [start, count] = [Number(second), Number(third)];
  return start < 1 || count < 1 ? "" : utf8Text(signs.slice(start - 1, start - 1 + count).join(""));
}

/** `expr` of GNU coreutils 9.1. */
export const expr: GnuCommand = (args, { print }) => {
  const words = args[0] === "--" ? args.slice(1) : args;
  if (words.length === 0) throw new UsageError("missing operand", { exitCode: FAILED });
  const value = new Expression(words).value();
  print(`${value}\n`);
  return isNull(value) ? 1 : 0;
};
