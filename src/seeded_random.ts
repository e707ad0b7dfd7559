/** Numbers from 0 to 1, 1 not among them, as `Math.random` gives them. */
export type Random = () => number;

/**
 * A source of chance that gives the same numbers for the same seed: the generator `sfc32`, its state filled
 * from the seed. Not for secrets.
 *
 * @throws {RangeError} when the seed is not a safe integer.
 */
export function seededRandom(seed: number): Random {
  let a = mixed(seed, 0);
  let b = mixed(seed, 1);
  let c = mixed(seed, 2);
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
 * A seed of its own for each part of a whole: for an element of a batch, an episode of it, a pass over a file.
 *
 * @throws {RangeError} when the seed is not a safe integer.
 */
export function derivedSeed(seed: number, ...parts: readonly number[]): number {
  return parts.reduce((derived, part) => mixed(derived, part + 3), seed) >>> 0;
}

/** A seed for those who gave none. */
export function freshSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
}

/** 32 bits that hang on every bit of both numbers; the finish is that of MurmurHash3. */
function mixed(seed: number, part: number): number {
  if (!Number.isSafeInteger(seed)) {
    throw new RangeError(`Cannot seed as 'seed' must be a safe integer: current value is ${seed}`);
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
