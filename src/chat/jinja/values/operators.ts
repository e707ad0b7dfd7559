import { requireKey } from "./compare.ts";
import { PythonTypeError, PythonValueError, UnsupportedError } from "../jinja_errors.ts";
import { formatPercent } from "./percent_format.ts";
import type { BinaryOperator } from "../syntax/nodes.ts";
import {
  addInts,
  divideInts,
  type Int,
  intOf,
  multiplyInts,
  negateInt,
  numberOf,
  powerOfInts,
  toDouble,
  trueDivideInts,
} from "./numbers.ts";
import type { Run } from "../run.ts";
import { escapeHtml, strOf } from "./text.ts";
import {
  Dict,
  Float,
  isList,
  Markup,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from "./values.ts";

/** Applies an operator of arithmetic as Python does. */
export function applyBinary(operator: BinaryOperator, a: Value, b: Value, run: Run): Value {
  if (a instanceof Undefined) a.fail();
  if (operator === "%" && stringOf(a) !== undefined) return formatPercent(a, b, run);
  if (b instanceof Undefined) b.fail();
  if (operator === "+") return add(a, b, run);
  const [x, y] = [intOf(a), intOf(b)];
  if (x !== undefined && y !== undefined) return INTEGERS[operator](x, y);
  const [left, right] = [doubleOf(a), doubleOf(b)];
  if (left !== undefined && right !== undefined) return new Float(DOUBLES[operator](left, right));
  if (operator === "*" && y !== undefined) return repeat(a, y, run) ?? refuse(operator, a, b);
  if (operator === "*" && x !== undefined) return repeat(b, x, run) ?? refuse(operator, a, b);
  refuse(operator, a, b);
}

/** Applies `+`. */
export function add(a: Value, b: Value, run: Run): Value {
  if (typeof a === "string" && typeof b === "string") return joinTexts(a, b, run);
  const [x, y] = [intOf(a), intOf(b)];
  if (x !== undefined && y !== undefined) return addInts(x, y);
  const [left, right] = [doubleOf(a), doubleOf(b)];
  if (left !== undefined && right !== undefined) return new Float(left + right);
  if (stringOf(a) !== undefined && stringOf(b) !== undefined) { // one text is safe, and the other is escaped
    return new Markup(joinTexts(escapeHtml(a, run).text, escapeHtml(b, run).text, run));
  }
  if (isList(a) && isList(b)) return concatenate(a, b, run);
  if (a instanceof Tuple && b instanceof Tuple) return new Tuple(concatenate(a.items, b.items, run));
  for (const value of [a, b]) if (value instanceof Undefined) value.fail();
  refuse("+", a, b);
}

function joinTexts(a: string, b: string, run: Run): string {
  run.grow(a.length + b.length);
  return a + b;
}

function concatenate(a: readonly Value[], b: readonly Value[], run: Run): readonly Value[] {
  run.step(a.length + b.length);
  return [...a, ...b];
}

/** A number as Python converts the number for arithmetic with a float. */
function doubleOf(value: Value): number | undefined {
  const int = intOf(value);
  return int === undefined ? numberOf(value) : toDouble(int);
}

const INTEGERS: Readonly<Record<BinaryOperator, (a: Int, b: Int) => Value>> = {
  "+": addInts,
  "-": (a, b) => addInts(a, negateInt(b)),
  "*": multiplyInts,
  "/": (a, b) => new Float(trueDivideInts(a, b)),
  "//": (a, b) => divideInts(a, b).quotient,
  "%": (a, b) => divideInts(a, b).rest,
  "**": (a, b) => b < 0 ? new Float(power(toDouble(a), toDouble(b))) : powerOfInts(a, b),
};

const DOUBLES: Readonly<Record<BinaryOperator, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / requireDivisor(b),
  "//": (a, b) => divideDoubles(a, b).quotient,
  "%": (a, b) => divideDoubles(a, b).rest,
  "**": power,
};

function requireDivisor(value: number): number {
  if (value === 0) throw new PythonValueError("float division by zero");
  return value;
}

/** Divides floats so that the rest has the sign of the divisor. */
function divideDoubles(a: number, b: number): { quotient: number; rest: number } {
  requireDivisor(b);
  let rest = a % b;
  let quotient = (a - rest) / b;
  if (rest !== 0 && rest < 0 !== b < 0) {
    rest += b;
    quotient -= 1;
  } else if (rest === 0) {
    rest = b < 0 ? -0 : 0;
  }
  const whole = Math.floor(quotient);
  if (quotient === 0) return { quotient: a / b < 0 || Object.is(a / b, -0) ? -0 : 0, rest };
  return { quotient: quotient - whole > 0.5 ? whole + 1 : whole, rest };
}

function power(base: number, exponent: number): number {
  if (base === 0 && exponent < 0) throw new PythonValueError("0.0 cannot be raised to a negative power");
  if (base === 1 || (base === -1 && !Number.isFinite(exponent) && !Number.isNaN(exponent))) return 1;
  if (base < 0 && Number.isFinite(base) && Number.isFinite(exponent) && !Number.isInteger(exponent)) {
    throw new UnsupportedError("the power of a negative number with a fraction is a complex number");
  }
  const result = base ** exponent;
  if (!Number.isFinite(result) && Number.isFinite(base) && Number.isFinite(exponent)) {
    throw new PythonValueError("the result of a power is too large");
  }
  return result;
}

/** Most and fewest times that Python repeats a sequence, even a sequence without items. */
const INDEX_LIMITS = [2n ** 63n - 1n, -(2n ** 63n)] as const;

/** Repeats a string, list or tuple. */
function repeat(value: Value, times: Int, run: Run): Value | undefined {
  const count = Math.max(0, Number(times));
  const text = stringOf(value);
  const isSequence = text !== undefined || isList(value) || value instanceof Tuple;
  if (isSequence && (times > INDEX_LIMITS[0] || times < INDEX_LIMITS[1])) {
    throw new PythonValueError("a sequence must be repeated at most 2 ** 63 - 1 times");
  }
  if (text !== undefined) {
    run.grow(text.length * count);
    const repeated = text === "" ? "" : text.repeat(count);
    return value instanceof Markup ? new Markup(repeated) : repeated;
  }
  const items = isList(value) ? value : value instanceof Tuple ? value.items : undefined;
  if (items === undefined) return undefined;
  run.step(items.length * count);
  const repeated = items.length === 0
    ? []
    : Array.from({ length: count }, () => items).flatMap((copy) => copy);
  return isList(value) ? repeated : new Tuple(repeated);
}

/** Applies a sign. */
export function applySign(sign: "+" | "-", value: Value): Value {
  if (value instanceof Undefined) value.fail();
  if (value instanceof Float) return sign === "-" ? new Float(-value.value) : value;
  const int = intOf(value);
  if (int === undefined) {
    throw new PythonTypeError(`a sign must stand before a number, not ${typeName(value)}`);
  }
  return sign === "-" ? negateInt(int) : int;
}

/** Applies `~`: joins the texts of values. */
export function concat(values: readonly Value[], run: Run): string {
  let text = "";
  for (const value of values) text += strOf(value, run);
  run.grow(text.length);
  return text;
}

function refuse(operator: string, a: Value, b: Value): never {
  if (operator === "-" && (a instanceof View || b instanceof View)) {
    throw new UnsupportedError("sets are not supported");
  }
  throw new PythonTypeError(`'${operator}' must not be between ${typeName(a)} and ${typeName(b)}`);
}

/** Returns a dict of members whose keys Python can hash. */
export function makeDict(entries: Iterable<readonly [Value, Value]>): Dict {
  return Dict.of(entries, requireKey);
}
