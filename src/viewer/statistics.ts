import { seededRandom } from "../seeded_random.ts";

/** A mean with a confidence interval of 95 %. */
export interface MeanInterval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** Number of values. */
  readonly count: number;
  /** Method of the interval. */
  readonly method: "bootstrap" | "normal";
}

/** Draws of a bootstrap. With more values than allow 1,000 resamples, the normal approximation is exact enough. */
const MAX_DRAWS = 4_000_000;
const RESAMPLES = 2_000;
const MIN_RESAMPLES = 1_000;
const Z_95 = 1.959964;

/**
 * Returns the mean with a percentile bootstrap interval of 95 %, which is the same for the same values. Above 4,000
 * values, the interval is the normal approximation. Returns `undefined` without values.
 */
export function meanInterval(values: ArrayLike<number>): MeanInterval | undefined {
  const count = values.length;
  if (count === 0) return undefined;
  const mean = meanOf(values);
  const resamples = Math.min(RESAMPLES, Math.floor(MAX_DRAWS / count));
  if (resamples < MIN_RESAMPLES) {
    const margin = Z_95 * Math.sqrt(varianceOf(values, mean) / count);
    return { mean, low: mean - margin, high: mean + margin, count, method: "normal" };
  }
  const random = seededRandom(count);
  const means = new Float64Array(resamples);
  for (let resample = 0; resample < resamples; resample++) {
    let sum = 0;
    for (let draw = 0; draw < count; draw++) sum += values[Math.floor(random() * count)] ?? 0;
    means[resample] = sum / count;
  }
  means.sort();
  return { mean, low: quantileOf(means, 0.025), high: quantileOf(means, 0.975), count, method: "bootstrap" };
}

/** Returns a quantile of sorted values, linear between two of them; `NaN` without values. */
function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] ?? NaN;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] ?? NaN;
  return low === high ? low : low + (high - low) * (position - below); // both may be infinite
}

/**
 * Returns the probability that at least one of `k` samples is right, estimated without bias from `right` of `count`
 * samples (Chen et al., 2021, arXiv:2107.03374): 1 - C(count - right, k) / C(count, k).
 *
 * @throws {RangeError} if `k` is larger than `count`.
 */
export function passAt(k: number, { count, right }: { count: number; right: number }): number {
  if (k > count) throw new RangeError(`Cannot estimate pass@${k} as it needs ${k} samples: found ${count}`);
  let allWrong = 1;
  for (let draw = 0; draw < k; draw++) allWrong *= Math.max(0, count - right - draw) / (count - draw);
  return 1 - allWrong;
}

/**
 * Returns the probability that all of `k` samples are right (pass^k), estimated without bias from `right` of `count`
 * samples (Yao et al., 2024, arXiv:2406.12045): C(right, k) / C(count, k).
 *
 * @throws {RangeError} if `k` is larger than `count`.
 */
export function passAll(k: number, { count, right }: { count: number; right: number }): number {
  return 1 - passAt(k, { count, right: count - right });
}

/** Result of McNemar's test. */
export interface McNemarTest {
  /** Pairs that only the first run solved. */
  readonly onlyFirst: number;
  /** Pairs that only the second run solved. */
  readonly onlySecond: number;
  /** Two-sided exact p-value. */
  readonly p: number;
}

/** Returns McNemar's exact test (binomial, two-sided) of the pairs on which two runs differ. */
export function mcNemarTest(onlyFirst: number, onlySecond: number): McNemarTest {
  const pairs = onlyFirst + onlySecond;
  let logTerm = -pairs * Math.LN2; // log of C(pairs, 0) / 2^pairs
  let tail = 0;
  for (let at = 0; at <= Math.min(onlyFirst, onlySecond); at++) {
    tail += Math.exp(logTerm);
    logTerm += Math.log(pairs - at) - Math.log(at + 1);
  }
  return { onlyFirst, onlySecond, p: Math.min(1, 2 * tail) };
}

/** Counts of values in ranges of equal width. */
export interface Histogram {
  readonly low: number;
  /** The largest value, which is in the last range. */
  readonly high: number;
  readonly width: number;
  readonly counts: readonly number[];
}

/**
 * Returns a histogram of the finite values. The last range also counts values above the 99.5 % quantile, so that an
 * outlier does not hide the other values.
 */
export function histogramOf(values: ArrayLike<number>, options: { bins: number; whole: boolean }): Histogram {
  const { low, high, quantile } = rangeOf(values);
  const range = Number.isNaN(quantile) ? 0 : quantile - low;
  const most = options.whole ? Math.floor(range) + 1 : range === 0 ? 1 : Infinity;
  const bins = Math.max(1, Math.min(options.bins, most));
  const exact = (quantile / bins - low / bins) || 1; // the range itself may be infinite
  const width = options.whole ? Math.max(1, Math.ceil((range + 1) / bins)) : exact;
  const counts = Array<number>(bins).fill(0);
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? NaN;
    if (!Number.isFinite(value)) continue;
    const distance = value - low;
    const place = distance === Infinity ? value / width - low / width : distance / width;
    const bin = Math.min(bins - 1, Math.floor(place));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return { low, high, width, counts };
}

/** Values from which the quantile of a histogram is taken: evenly spread ones if there are more. */
const QUANTILE_VALUES = 20_000;

/** Returns the smallest and the largest finite value, and about the 99.5 % quantile. */
function rangeOf(values: ArrayLike<number>): { low: number; high: number; quantile: number } {
  let low = Infinity;
  let high = -Infinity;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? NaN;
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  if (low === Infinity) return { low: 0, high: 0, quantile: NaN };
  const step = Math.max(1, Math.ceil(values.length / QUANTILE_VALUES));
  const sample = new Float64Array(Math.ceil(values.length / step)).map((_, at) => values[at * step] ?? NaN);
  return { low, high, quantile: quantileOf(sample.filter(Number.isFinite).sort(), 0.995) };
}

function meanOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let at = 0; at < values.length; at++) sum += values[at] ?? 0;
  return sum / values.length;
}

function varianceOf(values: ArrayLike<number>, mean: number): number {
  let sum = 0;
  for (let at = 0; at < values.length; at++) sum += ((values[at] ?? 0) - mean) ** 2;
  return values.length < 2 ? 0 : sum / (values.length - 1);
}
