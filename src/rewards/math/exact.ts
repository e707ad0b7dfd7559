import { applied, product, raised, reciprocal, type Rounded, rounded, sum } from "./rounded.ts";

/**
 * A number: a fraction where that is possible, else what floating point makes of it. A bare one is right but for
 * its last digits.
 */
export type Exact = Fraction | Rounded | number;

/** A fraction in its lowest terms; what is under the line is above 0. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** Larger numbers go on as floating point: nobody writes them, and they take time. */
const MAX_BITS = 4_096;
const MAX_FRACTION_BITS = 1_500;
const MAX_EXPONENT = 1_000;
const MAX_FACTORIAL = 170;
/** What an answer in decimals may lack, as a share of the number. */
const DECIMALS = 1e-9;
/** How far numbers may be apart, against what floating point loses. */
const SLACK = 16;
/** A number that is off by a larger share of itself or of 1 could be anything. */
const MAX_ERROR = 1e-10;

/** The number of decimal digits such as `12`, `.5` or `3.25`. */
export function exactOf(digits: string): Exact {
  const [whole = "", decimals = ""] = digits.split(".");
  return reduced(BigInt(`${whole}${decimals}` || "0"), 10n ** BigInt(decimals.length));
}

/** The sum of two numbers. */
export function plus(a: Exact, b: Exact): Exact {
  if (!isFraction(a) || !isFraction(b)) return sum(roundedOf(a), roundedOf(b));
  return reduced(a.over * b.under + b.over * a.under, a.under * b.under);
}

/** The product of two numbers. */
export function times(a: Exact, b: Exact): Exact {
  if (!isFraction(a) || !isFraction(b)) return product(roundedOf(a), roundedOf(b));
  return reduced(a.over * b.over, a.under * b.under);
}

/** The number that a number is to be multiplied with to give 1; NaN for 0. */
export function inverse(a: Exact): Exact {
  if (!isFraction(a)) return floatOf(a) === 0 ? NaN : reciprocal(roundedOf(a));
  return a.over === 0n ? NaN : reduced(a.under, a.over);
}

/** The number with the other sign. */
export function negate(value: Exact): Exact {
  if (isFraction(value)) return { ...value, over: -value.over };
  return typeof value === "number" ? -value : { ...value, value: -value.value };
}

/** A power, which is exact for small whole exponents. */
export function power(base: Exact, exponent: Exact): Exact {
  const times = floatOf(exponent);
  const size = Math.abs(times);
  const isSmall = isFraction(base) && isFraction(exponent) && Number.isInteger(times) && size <= MAX_EXPONENT;
  const most = isFraction(base) && base.under !== 1n ? MAX_FRACTION_BITS : MAX_BITS;
  if (!isSmall || bitsOf(base) * size > most) return raised(roundedOf(base), roundedOf(exponent));
  const power = { over: base.over ** BigInt(size), under: base.under ** BigInt(size) };
  return times < 0 ? inverse(power) : power;
}

/** A function that is never exact of a number. */
export function apply(make: (x: number) => number, value: Exact): Exact {
  return applied(make, roundedOf(value));
}

/** The factorial of a whole number; NaN of any other. */
export function factorial(a: Exact): Exact {
  const last = floatOf(a);
  if (!Number.isInteger(last) || last < 0 || last > MAX_FACTORIAL) return NaN;
  let product = 1n;
  for (let factor = 2n; factor <= BigInt(last); factor++) product *= factor;
  return reduced(product, 1n);
}

/** The number in floating point. */
export function floatOf(a: Exact): number {
  return roundedOf(a).value;
}

/** Whether it is known what a number is: not for 1/0, and not for what floating point has lost. */
export function isKnown(a: Exact): boolean {
  if (isFraction(a)) return true;
  const { value, error } = roundedOf(a);
  return Number.isFinite(value) && error <= MAX_ERROR * Math.max(1, Math.abs(value));
}

/**
 * Whether two numbers are one: exactly where both are exact, to nine digits where one is, else to what floating
 * point loses. What is not known is never one.
 */
export function isSame(a: Exact, b: Exact): boolean {
  if (isFraction(a) && isFraction(b)) return a.over === b.over && a.under === b.under;
  if (!isKnown(a) || !isKnown(b)) return false;
  const [first, second] = [roundedOf(a), roundedOf(b)];
  const size = Math.max(Math.abs(first.value), Math.abs(second.value));
  if (!Number.isFinite(size)) return false; // a fraction larger than floating point holds
  const lost = SLACK * (first.error + second.error);
  const given = isFraction(a) || isFraction(b) ? DECIMALS * size : 0;
  return Math.abs(first.value - second.value) <= Math.max(lost, given);
}

/** Whether a number is a fraction, and so what it says. */
export function isFraction(a: Exact): a is Fraction {
  return typeof a !== "number" && "over" in a;
}

function roundedOf(a: Exact): Rounded {
  if (typeof a === "number") return rounded(a);
  if (!isFraction(a)) return a;
  const value = quotient(a);
  return a.under === 1n && Number.isSafeInteger(value) ? { value, error: 0 } : rounded(value);
}

function reduced(over: bigint, under: bigint): Exact {
  const divisor = greatestDivisor(over < 0n ? -over : over, under < 0n ? -under : under);
  const sign = under < 0n ? -1n : 1n;
  const fraction = { over: sign * over / divisor, under: sign * under / divisor };
  const most = fraction.under === 1n ? MAX_BITS : MAX_FRACTION_BITS;
  return bitsOf(fraction) > most ? quotient(fraction) : fraction;
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function bitsOf({ over, under }: Fraction): number {
  return 4 * Math.max(over.toString(16).length, under.toString(16).length);
}

/** Divides so that large fractions do not overflow on the way; NaN for what is smaller than floating point holds. */
function quotient({ over, under }: Fraction): number {
  const direct = Number(over) / Number(under);
  if (over === 0n || (Number.isFinite(direct) && direct !== 0)) return direct;
  const shift = 64 + bitsOf({ over: under, under }) - bitsOf({ over, under: 1n });
  const value = Number((over << BigInt(shift)) / under) * 2 ** -shift;
  return value === 0 ? NaN : value;
}
