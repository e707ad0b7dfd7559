import { PythonValueError, UnsupportedError } from "../jinja_errors.ts";
import { Float, type Value } from "./values.ts";

/** An integer: a `number` if safe, otherwise a `bigint`. */
export type Int = number | bigint;

/** Most digits of an integer that Python converts from or to text. */
const MAX_DIGITS = 4300;
/** Most bits of an integer that a template can compute. */
const MAX_BITS = 1 << 20;

export function isInt(value: Value): value is Int {
  return typeof value === "number" || typeof value === "bigint";
}

/** Returns an integer or boolean as an integer. */
export function intOf(value: Value): Int | undefined {
  if (typeof value === "boolean") return value ? 1 : 0;
  return isInt(value) ? value : undefined;
}

/** Returns a boolean, integer or float as a JavaScript number, and `undefined` for other values. */
export function numberOf(value: Value): number | undefined {
  if (value instanceof Float) return value.value;
  const int = intOf(value);
  return int === undefined ? undefined : Number(int);
}

/** Returns Python's float of a number; fails for an integer that is too large. */
export function toDouble(value: Int): number {
  const result = Number(value);
  if (!Number.isFinite(result)) throw new PythonValueError("int too large to convert to float");
  return result;
}

export function normalizeInt(value: bigint): Int {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

export function addInts(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return normalizeInt(BigInt(a) + BigInt(b));
}

export function negateInt(value: Int): Int {
  return typeof value === "number" ? 0 - value : normalizeInt(-value);
}

export function multiplyInts(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const product = a * b;
    if (Number.isSafeInteger(product)) return product === 0 ? 0 : product;
  }
  requireBits(bitLength(a) + bitLength(b));
  return normalizeInt(BigInt(a) * BigInt(b));
}

/** Returns quotient and rest of a division that rounds down. */
export function divideInts(a: Int, b: Int): { quotient: Int; rest: Int } {
  if (b === 0) throw new PythonValueError("integer division or modulo by zero");
  if (typeof a === "number" && typeof b === "number") {
    const quotient = Math.floor(a / b);
    const rest = a - quotient * b;
    const isExact = Math.abs(a) < 2 ** 50 && Math.abs(b) < 2 ** 50 && rest * Math.sign(b) >= 0 &&
      Math.abs(rest) < Math.abs(b);
    if (isExact) return { quotient: quotient === 0 ? 0 : quotient, rest: rest === 0 ? 0 : rest };
  }
  const [x, y] = [BigInt(a), BigInt(b)];
  const rest = x % y;
  const isBelow = rest !== 0n && (rest < 0n) !== (y < 0n);
  return {
    quotient: normalizeInt(x / y - (isBelow ? 1n : 0n)),
    rest: normalizeInt(isBelow ? rest + y : rest),
  };
}

/** Returns the quotient of two integers as the nearest float. */
export function trueDivideInts(a: Int, b: Int): number {
  if (b === 0) throw new PythonValueError("division by zero");
  if (typeof a === "number" && typeof b === "number") return a / b;
  const [x, y] = [BigInt(a), BigInt(b)];
  const isNegative = (x < 0n) !== (y < 0n);
  const [top, bottom] = [x < 0n ? -x : x, y < 0n ? -y : y];
  const shift = Math.max(0, bitLength(bottom) - bitLength(top) + 66);
  const scaled = (top << BigInt(shift)) / bottom;
  const isInexact = scaled * bottom !== top << BigInt(shift);
  const cut = Math.max(0, bitLength(scaled) - 66);
  const lowBits = scaled & ((1n << BigInt(cut)) - 1n);
  const digits = (scaled >> BigInt(cut)) | (isInexact || lowBits !== 0n ? 1n : 0n); // the last bit stands for the rest
  const result = Number(digits) * 2 ** (cut - shift);
  if (!Number.isFinite(result)) throw new PythonValueError("integer division result too large for a float");
  return isNegative ? -result : result;
}

/** Returns the power of an integer with an exponent that is not negative. */
export function powerOfInts(base: Int, exponent: Int): Int {
  if (base === 1 || base === 0 || base === -1) {
    if (exponent === 0) return 1;
    return base === -1 && BigInt(exponent) % 2n === 0n ? 1 : base;
  }
  requireBits(bitLength(base) * Number(exponent));
  return normalizeInt(BigInt(base) ** BigInt(exponent));
}

/** Returns the number of bits of an integer without sign. */
export function bitLength(value: Int): number {
  const digits = (value < 0 ? -BigInt(value) : BigInt(value)).toString(16);
  return digits === "0" ? 0 : (digits.length - 1) * 4 + (32 - Math.clz32(parseInt(digits.slice(0, 1), 16)));
}

function requireBits(bits: number): void {
  if (bits > MAX_BITS) throw new UnsupportedError(`an integer must have at most ${MAX_BITS} bits`);
}

/** Returns the text of an integer. */
export function intText(value: Int): string {
  const text = String(value);
  if (typeof value === "bigint" && text.length - (value < 0n ? 1 : 0) > MAX_DIGITS) {
    throw new PythonValueError(`an integer must have at most ${MAX_DIGITS} digits to become a string`);
  }
  return text;
}

/** Returns the text of a float as by Python's `repr`: 1.0, 1e-07, 1e+16. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return exponentText(value.toExponential());
  return text.includes(".") ? text : `${text}.0`;
}

/** Writes an exponent with a sign and at least two digits. */
export function exponentText(text: string): string {
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

/** Digits of all scripts have the decimal value of their place in a block of ten. */
function asciiDigits(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, (char) => /\p{Nd}/u.test(char) ? `${decimalValue(char)}` : char);
}

/** Returns the value of a decimal digit of any script. */
export function decimalValue(char: string): number {
  let value = 0;
  for (let code = (char.codePointAt(0) ?? 0) - 1; value < 9; code--, value++) {
    if (!/\p{Nd}/u.test(String.fromCodePoint(code))) break;
  }
  return value;
}

const INT_DIGITS: Readonly<Record<number, RegExp>> = {
  2: /^(?:0b_?)?([01]+(?:_[01]+)*)$/i,
  8: /^(?:0o_?)?([0-7]+(?:_[0-7]+)*)$/i,
  16: /^(?:0x_?)?([\da-f]+(?:_[\da-f]+)*)$/i,
};

/**
 * Reads the text of an integer as Python's `int(text, base)`.
 *
 * @returns `undefined` if the text is no integer.
 */
export function parseInteger(text: string, base: number): Int | undefined {
  const [, sign = "", digits = ""] = /^([+-]?)([^]*)$/.exec(asciiDigits(text)) ?? [];
  if (base === 0) {
    const prefix = /^0([box])/i.exec(digits)?.[1]?.toLowerCase();
    if (prefix === undefined && /^0[\d_]*[1-9]/.test(digits)) return undefined;
    return parseInteger(text, prefix === "b" ? 2 : prefix === "o" ? 8 : prefix === "x" ? 16 : 10);
  }
  const pattern = INT_DIGITS[base] ?? /^([\da-z]+(?:_[\da-z]+)*)$/i;
  const match = pattern.exec(digits)?.[1]?.replaceAll("_", "").toLowerCase();
  if (match === undefined) return undefined;
  if (match.length > MAX_DIGITS && (base & (base - 1)) !== 0) return undefined;
  let value = 0n;
  if (base === 10) {
    if (!/^\d+$/.test(match)) return undefined;
    value = BigInt(match);
  } else {
    for (const digit of match) {
      const one = parseInt(digit, 36);
      if (one >= base) return undefined;
      value = value * BigInt(base) + BigInt(one);
    }
  }
  return normalizeInt(sign === "-" ? -value : value);
}

const FLOAT = /^[+-]?(?:(?:\d+(?:_\d+)*)?\.\d+(?:_\d+)*|\d+(?:_\d+)*\.?)(?:e[+-]?\d+(?:_\d+)*)?$/i;
const SPECIAL = /^([+-]?)(?:(inf|infinity)|nan)$/i;

/**
 * Reads the text of a float as Python's `float(text)`, without surrounding blanks.
 *
 * @returns `undefined` if the text is no float.
 */
export function parseDouble(text: string): number | undefined {
  const ascii = asciiDigits(text);
  if (FLOAT.test(ascii)) return Number(ascii.replaceAll("_", ""));
  const special = SPECIAL.exec(ascii);
  if (special === null) return undefined;
  if (special[2] === undefined) return NaN;
  return special[1] === "-" ? -Infinity : Infinity;
}

/** Returns the integer part of a float. */
export function truncate(value: number): Int {
  if (!Number.isFinite(value)) {
    throw new PythonValueError(`cannot convert float ${floatText(value)} to integer`);
  }
  const whole = Math.trunc(value);
  return Number.isSafeInteger(whole) ? whole + 0 : normalizeInt(BigInt(whole));
}
