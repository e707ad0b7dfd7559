import {
  apply,
  type Exact,
  exactOf,
  floatOf,
  invert,
  isFraction,
  multiply,
  negate,
  raise,
  roundDown,
} from "./exact.ts";

/** Functions of a number, by name. Their results are never exact. */
export const FUNCTIONS: Readonly<Record<string, (x: number) => number>> = {
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  cot: (x) => 1 / Math.tan(x),
  sec: (x) => 1 / Math.cos(x),
  csc: (x) => 1 / Math.sin(x),
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  coth: (x) => 1 / Math.tanh(x),
  sech: (x) => 1 / Math.cosh(x),
  csch: (x) => 1 / Math.sinh(x),
  arcsin: Math.asin,
  arccos: Math.acos,
  arctan: Math.atan,
  arccot: (x) => Math.PI / 2 - Math.atan(x),
  arcsec: (x) => Math.acos(1 / x),
  arccsc: (x) => Math.asin(1 / x),
  arsinh: Math.asinh,
  arcosh: Math.acosh,
  artanh: Math.atanh,
  arcoth: (x) => Math.atanh(1 / x),
  arsech: (x) => Math.acosh(1 / x),
  arcsch: (x) => Math.asinh(1 / x),
  arcsinh: Math.asinh,
  arccosh: Math.acosh,
  arctanh: Math.atanh,
  ln: Math.log,
  exp: Math.exp,
};

/** Names of the inverse functions, which the exponent -1 names: `\tan^{-1} x` is `\arctan x`, and not `1/\tan x`. */
export const INVERSES: Readonly<Record<string, string>> = {
  sin: "arcsin",
  cos: "arccos",
  tan: "arctan",
  cot: "arccot",
  sec: "arcsec",
  csc: "arccsc",
  sinh: "arsinh",
  cosh: "arcosh",
  tanh: "artanh",
  coth: "arcoth",
  sech: "arsech",
  csch: "arcsch",
};

/** Returns the logarithm of a number to a base. */
export function logarithm(value: Exact, base: Exact): Exact {
  return multiply(apply(Math.log, value), invert(apply(Math.log, base)));
}

/** Returns a root, which is exact for an integer or a fraction of integers. */
export function takeRoot(value: Exact, degree: Exact): Exact {
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

/** Effect of a closing bracket on the value in the brackets. */
export const ROUNDINGS: Readonly<Record<string, (value: Exact) => Exact>> = {
  rfloor: roundDown,
  rceil: (value) => negate(roundDown(negate(value))),
};
