import { processTree } from "./processes.ts";

/** Returns the median, which a single slow run does not change much. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2
    ? sorted[middle] ?? NaN
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

/** Returns the value that a share of all values, from 0 to 1, does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

/** The median of several runs, and the quartiles around it. */
export interface Summary {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Returns the median and the quartiles of values. */
export function summarize(values: readonly number[]): Summary {
  return { value: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}

/** Returns the milliseconds of each of `runs` sequential runs, after `warmup` runs that do not count. */
export async function timings(
  work: () => Promise<unknown>,
  options: { runs: number; warmup?: number },
): Promise<number[]> {
  const { runs, warmup = 0 } = options;
  for (let run = 0; run < warmup; run++) await work();
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return times;
}

/** Returns the runs of `work` per second when `lanes` repeat it concurrently for `ms` milliseconds. */
export async function ratePerSecond(
  work: (lane: number) => Promise<unknown>,
  options: { lanes: number; ms: number },
): Promise<number> {
  const { lanes, ms } = options;
  const startedAt = performance.now();
  let done = 0;
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    while (performance.now() - startedAt < ms) {
      await work(lane);
      done++;
    }
  }));
  return done / ((performance.now() - startedAt) / 1000);
}

/**
 * Measures two rates in turn, A B A B …, so that a machine whose speed drifts slows both. Returns their medians and
 * the median of the ratios A / B of each pair.
 */
export async function ratesInTurn(
  a: () => Promise<number>,
  b: () => Promise<number>,
  rounds: number,
): Promise<{ a: number; b: number; ratio: number }> {
  const pairs: { a: number; b: number }[] = [];
  for (let round = 0; round < rounds; round++) pairs.push({ a: await a(), b: await b() });
  return {
    a: median(pairs.map((pair) => pair.a)),
    b: median(pairs.map((pair) => pair.b)),
    ratio: median(pairs.map((pair) => pair.a / pair.b)),
  };
}

/** Returns the private memory of a process in bytes, or `undefined` if the host does not report it. */
export async function privateBytes(pid: number): Promise<number | undefined> {
  try {
    const text = await Deno.readTextFile(`/proc/${pid}/smaps_rollup`);
    const kib = [...text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].map(([, size]) => Number(size));
    return kib.reduce((sum, size) => sum + size, 0) * 1024;
  } catch {
    return undefined; // no such file on this host
  }
}

/** Returns the private memory of a process and all below it in bytes, NaN if the host does not tell. */
export async function treePrivateBytes(pid: number): Promise<number> {
  const sizes = await Promise.all((await processTree(pid)).map(privateBytes));
  return sizes.reduce<number>((sum, size) => sum + (size ?? NaN), 0);
}
