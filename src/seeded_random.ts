import { ArgumentRangeError } from "./errors.ts";

/** A function that returns numbers from 0 (inclusive) to 1 (exclusive), like `Math.random`. */
export type Random = () => number;

/**
 * Creates a random number generator that returns the same numbers for the same seed. The algorithm is
 * `sfc32`. Do not use it for secrets.
 *
 * @throws {RangeError} if the seed is not a safe integer.
 */
export function seededRandom(seed: number): Random {
  let a = mix(seed, 0);
  let b = mix(seed, 1);
  let c = mix(seed, 2);
  let counter = 1;
  return () => {
    const sum = (a + b + counter++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return (sum >>> 0) / 2 ** 32;
  };
}

/**
 * Derives a seed for one part of a run, such as an element of a batch, an episode, or a pass over a file.
 *
 * @throws {RangeError} if the seed is not a safe integer.
 */
export function deriveSeed(seed: number, ...parts: readonly number[]): number {
  return parts.reduce((derived, part) => mix(derived, part + 3), seed) >>> 0;
}

/** Returns a random seed, for callers without one. */
export function randomSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
}

/** Returns 32 bits that depend on every bit of both numbers. The final mixing step comes from MurmurHash3. */
function mix(seed: number, part: number): number {
  if (!Number.isSafeInteger(seed)) {
    throw new ArgumentRangeError(`Cannot seed as 'seed' must be a safe integer: current value is ${seed}`);
  }
  let hash = 0x9e3779b9 ^ Math.imul(part + 1, 0x85ebca6b);
  for (const word of [seed | 0, Math.floor(seed / 2 ** 32) | 0]) {
    hash = Math.imul(hash ^ word, 0xcc9e2d51);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  return hash;
}
