/** A number: a fraction where that is possible, else what floating point makes of it. */
export type Exact = Fraction | number;

/** A fraction in its lowest terms; what is under the line is above 0. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** Larger numbers go on as floating point: nobody writes them, and they take time. */
const MAX_BITS = 4_096;
const MAX_EXPONENT = 1_000;
const MAX_FACTORIAL = 170;
/** What floating point may lose, as a share of the number; and what it makes of 0. */
const ROUNDING = 1e-9;
const ZERO = 1e-12;

/** The number of decimal digits such as `12`, `.5` or `3.25`. */
export function exactOf(digits: string): Exact {
  const [whole = "", decimals = ""] = digits.split(".");
  return reduced(BigInt(`${whole}${decimals}` || "0"), 10n ** BigInt(decimals.length));
}

/** The sum of two numbers. */
export function plus(a: Exact, b: Exact): Exact {
  if (typeof a === "number" || typeof b === "number") return floatOf(a) + floatOf(b);
  return reduced(a.over * b.under + b.over * a.under, a.under * b.under);
}

/** The product of two numbers. */
export function times(a: Exact, b: Exact): Exact {
  if (typeof a === "number" || typeof b === "number") return floatOf(a) * floatOf(b);
  return reduced(a.over * b.over, a.under * b.under);
}

/** The number that a number is to be multiplied with to give 1; NaN for 0. */
export function inverse(a: Exact): Exact {
  if (typeof a === "number") return a === 0 ? NaN : 1 / a;
  return a.over === 0n ? NaN : reduced(a.under, a.over);
}

/** The number with the other sign. */
export function negate(value: Exact): Exact {
  return typeof value === "number" ? -value : { ...value, over: -value.over };
}

/** A power, which is exact for small whole exponents. */
export function power(base: Exact, exponent: Exact): Exact {
  const times = floatOf(exponent);
  if (typeof base === "number" || !Number.isInteger(times) || Math.abs(times) > MAX_EXPONENT) {
    return floatOf(base) ** times;
  }
  const size = BigInt(Math.abs(times));
  if (bitsOf(base) * Math.abs(times) > MAX_BITS) return floatOf(base) ** times;
  const raised = { over: base.over ** size, under: base.under ** size };
  return times < 0 ? inverse(raised) : raised;
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
  return typeof a === "number" ? a : quotient(a);
}

/** Whether two numbers are one, exactly where both are exact. What is no number is never one. */
export function isSame(a: Exact, b: Exact): boolean {
  if (typeof a !== "number" && typeof b !== "number") return a.over === b.over && a.under === b.under;
  const [first, second] = [floatOf(a), floatOf(b)];
  if (!Number.isFinite(first) || !Number.isFinite(second)) return false;
  const size = Math.max(Math.abs(first), Math.abs(second));
  return Math.abs(first - second) <= Math.max(ROUNDING * size, ZERO);
}

function reduced(over: bigint, under: bigint): Exact {
  const divisor = greatestDivisor(over < 0n ? -over : over, under < 0n ? -under : under);
  const sign = under < 0n ? -1n : 1n;
  const fraction = { over: sign * over / divisor, under: sign * under / divisor };
  return bitsOf(fraction) > MAX_BITS ? quotient(fraction) : fraction;
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function bitsOf({ over, under }: Fraction): number {
  return 4 * Math.max(over.toString(16).length, under.toString(16).length);
}

/** Divides with more digits than floating point holds, so that large fractions do not overflow on the way. */
function quotient({ over, under }: Fraction): number {
  const direct = Number(over) / Number(under);
  if (Number.isFinite(direct) && direct !== 0) return direct;
  return Number(over * 10n ** 30n / under) / 1e30;
}
