/**
 * A number: a fraction if possible, else a floating-point value. A plain `number` is right except for the
 * last digits.
 */
export type Exact = Fraction | Rounded | number;

/** A fraction in lowest terms; the denominator is above 0. */
interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Larger numbers become floating point: answers do not contain them, and they are slow. */
const MAX_BITS = 4_096;
const MAX_FRACTION_BITS = 1_500;
const MAX_EXPONENT = 1_000;
const MAX_FACTORIAL = 170;
/** Relative tolerance for answers in decimals. */
const DECIMALS = 1e-9;
/** Tolerated difference, as a multiple of the rounding error. */
const SLACK = 16;
/** A value with a larger error, relative to itself or to 1, counts as unknown. */
const MAX_ERROR = 1e-10;

/** Parses a decimal number such as `12`, `.5` or `3.25`. */
export function exactOf(digits: string): Exact {
  const [whole = "", decimals = ""] = digits.split(".");
  return reduce(BigInt(`${whole}${decimals}` || "0"), 10n ** BigInt(decimals.length));
}

/** Returns the sum of two numbers. */
export function add(a: Exact, b: Exact): Exact {
  if (!isFraction(a) || !isFraction(b)) return addRounded(roundedOf(a), roundedOf(b));
  return reduce(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
}

/** Returns the product of two numbers. */
export function multiply(a: Exact, b: Exact): Exact {
  if (!isFraction(a) || !isFraction(b)) return multiplyRounded(roundedOf(a), roundedOf(b));
  return reduce(a.numerator * b.numerator, a.denominator * b.denominator);
}

/** Returns the reciprocal of a number; NaN for 0. */
export function invert(a: Exact): Exact {
  if (!isFraction(a)) return floatOf(a) === 0 ? NaN : invertRounded(roundedOf(a));
  return a.numerator === 0n ? NaN : reduce(a.denominator, a.numerator);
}

/** Returns the number with the opposite sign. */
export function negate(value: Exact): Exact {
  if (isFraction(value)) return { ...value, numerator: -value.numerator };
  return typeof value === "number" ? -value : { ...value, value: -value.value };
}

/** Returns a power, which is exact for small integer exponents. */
export function raise(base: Exact, exponent: Exact): Exact {
  const times = floatOf(exponent);
  const size = Math.abs(times);
  const isSmall = isFraction(base) && isFraction(exponent) && Number.isInteger(times) && size <= MAX_EXPONENT;
  const most = isFraction(base) && base.denominator !== 1n ? MAX_FRACTION_BITS : MAX_BITS;
  if (!isSmall || bitsOf(base) * size > most) return raiseRounded(roundedOf(base), roundedOf(exponent));
  const power = { numerator: base.numerator ** BigInt(size), denominator: base.denominator ** BigInt(size) };
  return times < 0 ? invert(power) : power;
}

/** Applies a function whose result is never exact. */
export function apply(make: (x: number) => number, value: Exact): Exact {
  return applyRounded(make, roundedOf(value));
}

/** Returns the factorial of an integer; NaN for other numbers. */
export function factorial(a: Exact): Exact {
  const last = floatOf(a);
  if (!Number.isInteger(last) || last < 0 || last > MAX_FACTORIAL) return NaN;
  let product = 1n;
  for (let factor = 2n; factor <= BigInt(last); factor++) product *= factor;
  return reduce(product, 1n);
}

/** Returns the product of every second integer from a number down: `5!!` is 15. NaN unless the number is an integer. */
export function doubleFactorial(a: Exact): Exact {
  const last = floatOf(a);
  if (!Number.isInteger(last) || last < 0 || last > MAX_FACTORIAL) return NaN;
  let product = 1n;
  for (let factor = BigInt(last); factor > 1n; factor -= 2n) product *= factor;
  return reduce(product, 1n);
}

/** Returns the largest integer that is not above a number; NaN if rounding errors leave two. */
export function roundDown(a: Exact): Exact {
  if (isFraction(a)) {
    const whole = a.numerator / a.denominator;
    return reduce(a.numerator < 0n && whole * a.denominator !== a.numerator ? whole - 1n : whole, 1n);
  }
  const { value, error } = roundedOf(a);
  const least = Math.floor(value - error);
  return Number.isSafeInteger(least) && least === Math.floor(value + error) ? reduce(BigInt(least), 1n) : NaN;
}

/** Returns the number as floating point. */
export function floatOf(a: Exact): number {
  return roundedOf(a).value;
}

/** Returns true if the value is known: not for 1/0, nor for a value lost to rounding errors. */
export function isKnown(a: Exact): boolean {
  if (isFraction(a)) return true;
  const { value, error } = roundedOf(a);
  return Number.isFinite(value) && error <= MAX_ERROR * Math.max(1, Math.abs(value));
}

/**
 * Returns true if two numbers are equal: exactly if both are exact, to nine digits if only one number is exact, else up to
 * rounding errors. Unknown values are never equal.
 */
export function isEqual(a: Exact, b: Exact): boolean {
  if (isFraction(a) && isFraction(b)) return a.numerator === b.numerator && a.denominator === b.denominator;
  if (!isKnown(a) || !isKnown(b)) return false;
  const [first, second] = [roundedOf(a), roundedOf(b)];
  const size = Math.max(Math.abs(first.value), Math.abs(second.value));
  if (!Number.isFinite(size)) return false; // a fraction beyond the range of floating point
  const tolerance = SLACK * (first.error + second.error);
  const decimalTolerance = isFraction(a) || isFraction(b) ? DECIMALS * size : 0;
  return Math.abs(first.value - second.value) <= Math.max(tolerance, decimalTolerance);
}

/** Returns true if a number is an exact fraction. */
export function isFraction(a: Exact): a is Fraction {
  return typeof a !== "number" && "numerator" in a;
}

function roundedOf(a: Exact): Rounded {
  if (typeof a === "number") return toRounded(a);
  if (!isFraction(a)) return a;
  const value = quotient(a);
  return a.denominator === 1n && Number.isSafeInteger(value) ? { value, error: 0 } : toRounded(value);
}

function reduce(numerator: bigint, denominator: bigint): Exact {
  const divisor = greatestDivisor(
    numerator < 0n ? -numerator : numerator,
    denominator < 0n ? -denominator : denominator,
  );
  const sign = denominator < 0n ? -1n : 1n;
  const fraction = { numerator: sign * numerator / divisor, denominator: sign * denominator / divisor };
  const most = fraction.denominator === 1n ? MAX_BITS : MAX_FRACTION_BITS;
  return bitsOf(fraction) > most ? quotient(fraction) : fraction;
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function bitsOf({ numerator, denominator }: Fraction): number {
  return 4 * Math.max(numerator.toString(16).length, denominator.toString(16).length);
}

/** Divides without overflow for large fractions; NaN if the result is too small for floating point. */
function quotient({ numerator, denominator }: Fraction): number {
  const direct = Number(numerator) / Number(denominator);
  if (numerator === 0n || (Number.isFinite(direct) && direct !== 0)) return direct;
  const shift = 64 + bitsOf({ numerator: denominator, denominator }) - bitsOf({ numerator, denominator: 1n });
  const value = Number((numerator << BigInt(shift)) / denominator) * 2 ** -shift;
  return value === 0 ? NaN : value;
}

/** A floating-point number with a bound of the error. */
export interface Rounded {
  readonly value: number;
  readonly error: number;
}

/** Relative error of an operation. */
const SHARE = 4 * Number.EPSILON;
/** Below this value, floating point loses digits. */
const TINY = 1e-300;
/** A power with a larger error in the logarithm counts as unknown. */
const MAX_SHARE = 0.1;

/** Returns a number that is right except for the last digits. */
function toRounded(value: number): Rounded {
  return { value, error: SHARE * Math.abs(value) };
}

/** Returns the sum. The error is the sum of the errors of the terms. */
function addRounded(a: Rounded, b: Rounded): Rounded {
  return withError(a.value + b.value, a.error + b.error);
}

/** Returns the product. */
function multiplyRounded(a: Rounded, b: Rounded): Rounded {
  const error = Math.abs(a.value) * b.error + Math.abs(b.value) * a.error + a.error * b.error;
  return withError(a.value * b.value, error + TINY);
}

/** Returns the reciprocal; NaN for a number that may be 0 or is infinite. */
function invertRounded({ value, error }: Rounded): Rounded {
  const least = Math.abs(value) - error;
  if (!(least > 0) || !Number.isFinite(value)) return toRounded(NaN);
  return withError(1 / value, error / Math.abs(value) / least + TINY);
}

/** Returns a power. A base that may be 0 has no negative powers. */
function raiseRounded(base: Rounded, exponent: Rounded): Rounded {
  const least = Math.abs(base.value) - base.error;
  if (!(least > 0)) {
    const most = (Math.abs(base.value) + base.error) ** exponent.value;
    return exponent.value > 0 ? { value: 0, error: most } : toRounded(NaN);
  }
  const value = base.value ** exponent.value;
  const share = Math.abs(exponent.value) * base.error / least +
    Math.abs(Math.log(Math.abs(base.value))) * exponent.error;
  return withError(value, share > MAX_SHARE ? Infinity : 2 * share * Math.abs(value) + TINY);
}

/** Applies a function to a number and to both ends of the error range. */
function applyRounded(make: (x: number) => number, { value, error }: Rounded): Rounded {
  const near = [value, value - error, value + error].map(make).filter((result) => !Number.isNaN(result));
  const [result = NaN] = near;
  return withError(result, Math.max(...near) - Math.min(...near));
}

function withError(value: number, error: number): Rounded {
  return { value, error: error + SHARE * Math.abs(value) };
}
