import { type Exact, exactOf, floatOf, inverse, isFraction, negate, power, times } from "./exact.ts";

/** The functions of one number that are never exact, by name. */
export const FUNCTIONS: Readonly<Record<string, (x: number) => number>> = {
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  cot: (x) => 1 / Math.tan(x),
  sec: (x) => 1 / Math.cos(x),
  csc: (x) => 1 / Math.sin(x),
  arcsin: Math.asin,
  arccos: Math.acos,
  arctan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  ln: Math.log,
  exp: Math.exp,
};

/** A root, exact where it is a whole number or a fraction of such. */
export function root(value: Exact, degree: Exact): Exact {
  const [x, n] = [floatOf(value), floatOf(degree)];
  const isOdd = Math.abs(n % 2) === 1;
  const [size, share] = [x < 0 && isOdd ? negate(value) : value, inverse(degree)];
  const guess = size === value ? power(size, share) : negate(power(size, share));
  if (!isFraction(value) || !Number.isInteger(n)) return guess;
  const exact = nearFraction(floatOf(guess), value.under, n);
  const again = exact && power(exact, degree);
  const isExact = again !== null && isFraction(again) && again.over === value.over &&
    again.under === value.under;
  return exact !== null && isExact ? exact : guess;
}

/** The fraction next to a root, over the root of what is under the line. */
function nearFraction(guess: number, under: bigint, degree: number): Exact | null {
  const line = Math.round(Number(under) ** (1 / degree));
  const over = Math.round(guess * line);
  if (!Number.isSafeInteger(line) || !Number.isSafeInteger(over) || line === 0) return null;
  const size = times(exactOf(String(Math.abs(over))), inverse(exactOf(String(line))));
  return over < 0 ? negate(size) : size;
}

/** How many ways there are to choose `k` of `n`; NaN unless both are whole numbers that make sense. */
export function binomial(n: Exact, k: Exact): Exact {
  const [all, chosen] = [floatOf(n), floatOf(k)];
  if (!Number.isInteger(all) || !Number.isInteger(chosen) || chosen < 0 || chosen > all || all > 1_000) {
    return NaN;
  }
  let product: Exact = exactOf("1");
  for (let i = 1; i <= chosen; i++) {
    product = times(product, times(exactOf(String(all - chosen + i)), inverse(exactOf(String(i)))));
  }
  return product;
}
