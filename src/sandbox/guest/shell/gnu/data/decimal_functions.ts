import { type Decimal, integerRoot, truncate, ZERO } from "./decimal.ts";

/** Digits beyond the digits of the result, which absorb the rounding of steps. */
const GUARD_DIGITS = 12;

/** The functions compute in fixed point: a bigint `x` stands for `x / one`. */
function fixed(value: Decimal, scale: number, extra = 0): { x: bigint; one: bigint; digits: number } {
  const digits = scale + GUARD_DIGITS + extra;
  return { x: truncate(value, digits).value, one: 10n ** BigInt(digits), digits };
}

/** Sums `first`, and each term that `next` computes from the term before, until a term is zero. */
function series(first: bigint, next: (term: bigint, round: bigint) => bigint): bigint {
  let sum = first;
  let term = first;
  for (let round = 1n; term !== 0n; round++) {
    term = next(term, round);
    sum += term;
  }
  return sum;
}

/** Sums powers of odd exponents, each divided by its exponent. `factor` leads from a power to the next. */
function oddSeries(first: bigint, factor: bigint, one: bigint): bigint {
  let sum = 0n;
  let odd = 1n;
  for (let term = first; term !== 0n; term = term * factor / one) {
    sum += term / odd;
    odd += 2n;
  }
  return sum;
}

/** Returns e to the power of a number. */
export function exponential(value: Decimal, scale: number): Decimal {
  const whole = Math.max(0, Math.ceil(Number(value.value) / 10 ** value.scale * Math.LOG10E));
  const { x, one, digits } = fixed(value, scale, whole + value.scale);
  const halvings = BigInt(Math.max(0, (x < 0n ? -x : x).toString(2).length - one.toString(2).length + 8));
  const unit = one << (2n * halvings + 8n);
  const small = x << (halvings + 8n);
  let result = series(unit, (term, round) => term * small / (unit * round));
  for (let left = halvings; left > 0n; left--) result = result * result / unit;
  return truncate({ value: result / (unit / one), scale: digits }, scale);
}

/** Returns the natural logarithm. Numbers that have none give the most negative number of `scale` digits. */
export function logarithm(value: Decimal, scale: number): Decimal {
  if (value.value <= 0n) return truncate({ value: 1n - 10n ** BigInt(scale), scale: 0 }, scale);
  const { x, one, digits } = fixed(value, scale, value.scale + 8);
  const near = (number: bigint): { root: bigint; doublings: bigint } => {
    let root = number;
    let doublings = 0n;
    for (; root > one + one / 8n || root < one - one / 8n; doublings++) root = integerRoot(root * one);
    return { root, doublings };
  };
  const { root, doublings } = near(x);
  const ratio = (root - one) * one / (root + one);
  const square = ratio * ratio / one;
  const sum = oddSeries(ratio, square, one);
  return truncate({ value: (2n * sum) << doublings, scale: digits }, scale);
}

function inverseTangent(number: bigint, one: bigint): bigint {
  let x = number;
  let doublings = 0n;
  for (; (x < 0n ? -x : x) > one / 8n; doublings++) x = x * one / (one + integerRoot(one * one + x * x));
  const square = x * x / one;
  return oddSeries(x, -square, one) << doublings;
}

export function arctangent(value: Decimal, scale: number): Decimal {
  const { x, one, digits } = fixed(value, scale);
  return truncate({ value: inverseTangent(x, one), scale: digits }, scale);
}

function sineOf(x: bigint, one: bigint): bigint {
  const turn = 8n * inverseTangent(one, one);
  const rest = x % turn;
  const square = rest * rest / one;
  return series(rest, (term, round) => -term * square / one / (2n * round * (2n * round + 1n)));
}

export function sine(value: Decimal, scale: number): Decimal {
  const { x, one, digits } = fixed(value, scale, String(value.value).length);
  return truncate({ value: sineOf(x, one), scale: digits }, scale);
}

export function cosine(value: Decimal, scale: number): Decimal {
  const { x, one, digits } = fixed(value, scale, String(value.value).length);
  return truncate({ value: sineOf(x + 2n * inverseTangent(one, one), one), scale: digits }, scale);
}

/** Returns Bessel's function of an integer order. */
export function bessel(order: bigint, value: Decimal, scale: number): Decimal {
  const n = order < 0n ? -order : order;
  if (n > 1000n) return ZERO;
  const { x, one, digits } = fixed(
    value,
    scale,
    Math.ceil(Math.abs(Number(value.value) / 10 ** value.scale)),
  );
  let first = one;
  for (let round = 1n; round <= n; round++) first = first * x / (2n * round * one);
  const square = x * x / one;
  const sum = series(first, (term, round) => -term * square / one / (4n * round * (n + round)));
  return truncate({ value: order < 0n && n % 2n === 1n ? -sum : sum, scale: digits }, scale);
}
