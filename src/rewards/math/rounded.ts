/** A number of floating point, and by how much it may be off. */
export interface Rounded {
  readonly value: number;
  readonly error: number;
}

/** What one operation may lose, as a share of its result. */
const SHARE = 4 * Number.EPSILON;
/** Below it floating point has fewer digits, down to none. */
const TINY = 1e-300;
/** A power whose logarithm is off by more is not known. */
const MAX_SHARE = 0.1;

/** A number that is right but for its last digits. */
export function rounded(value: number): Rounded {
  return { value, error: SHARE * Math.abs(value) };
}

/** The sum, which is off by as much as its terms are, however small they leave it. */
export function sum(a: Rounded, b: Rounded): Rounded {
  return withError(a.value + b.value, a.error + b.error);
}

/** The product. */
export function product(a: Rounded, b: Rounded): Rounded {
  const error = Math.abs(a.value) * b.error + Math.abs(b.value) * a.error + a.error * b.error;
  return withError(a.value * b.value, error + TINY);
}

/** One divided by a number; NaN for what may be 0 or has no end. */
export function reciprocal({ value, error }: Rounded): Rounded {
  const least = Math.abs(value) - error;
  if (!(least > 0) || !Number.isFinite(value)) return rounded(NaN);
  return withError(1 / value, error / Math.abs(value) / least + TINY);
}

/** A power; what may be 0 has none below it. */
export function raised(base: Rounded, exponent: Rounded): Rounded {
  const least = Math.abs(base.value) - base.error;
  if (!(least > 0)) {
    const most = (Math.abs(base.value) + base.error) ** exponent.value;
    return exponent.value > 0 ? { value: 0, error: most } : rounded(NaN);
  }
  const value = base.value ** exponent.value;
  const share = Math.abs(exponent.value) * base.error / least +
    Math.abs(Math.log(Math.abs(base.value))) * exponent.error;
  return withError(value, share > MAX_SHARE ? Infinity : 2 * share * Math.abs(value) + TINY);
}

/** A function of a number, with what it makes of the numbers that this one may be. */
export function applied(make: (x: number) => number, { value, error }: Rounded): Rounded {
  const near = [value, value - error, value + error].map(make).filter((made) => !Number.isNaN(made));
  const [made = NaN] = near;
  return withError(made, Math.max(...near) - Math.min(...near));
}

function withError(value: number, error: number): Rounded {
  return { value, error: error + SHARE * Math.abs(value) };
}
