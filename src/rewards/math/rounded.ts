/** A floating-point number with a bound of its error. */
export interface Rounded {
  readonly value: number;
  readonly error: number;
}

/** Relative error of one operation. */
const SHARE = 4 * Number.EPSILON;
/** Below this value, floating point loses digits. */
const TINY = 1e-300;
/** A power with a larger error in its logarithm counts as unknown. */
const MAX_SHARE = 0.1;

/** Returns a number that is right except for its last digits. */
export function toRounded(value: number): Rounded {
  return { value, error: SHARE * Math.abs(value) };
}

/** Returns the sum. Its error is the sum of the errors of its terms. */
export function addRounded(a: Rounded, b: Rounded): Rounded {
  return withError(a.value + b.value, a.error + b.error);
}

/** Returns the product. */
export function multiplyRounded(a: Rounded, b: Rounded): Rounded {
  const error = Math.abs(a.value) * b.error + Math.abs(b.value) * a.error + a.error * b.error;
  return withError(a.value * b.value, error + TINY);
}

/** Returns the reciprocal; NaN for a number that may be 0 or is infinite. */
export function invertRounded({ value, error }: Rounded): Rounded {
  const least = Math.abs(value) - error;
  if (!(least > 0) || !Number.isFinite(value)) return toRounded(NaN);
  return withError(1 / value, error / Math.abs(value) / least + TINY);
}

/** Returns a power. A base that may be 0 has no negative powers. */
export function raiseRounded(base: Rounded, exponent: Rounded): Rounded {
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

/** Applies a function to a number and to both ends of its error range. */
export function applyRounded(make: (x: number) => number, { value, error }: Rounded): Rounded {
  const near = [value, value - error, value + error].map(make).filter((result) => !Number.isNaN(result));
  const [result = NaN] = near;
  return withError(result, Math.max(...near) - Math.min(...near));
}

function withError(value: number, error: number): Rounded {
  return { value, error: error + SHARE * Math.abs(value) };
}
