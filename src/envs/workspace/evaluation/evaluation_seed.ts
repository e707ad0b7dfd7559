import { sha256 } from "../../../sandbox/sha256.ts";

/** Number of hexadecimal digits that fit into a safe integer. */
const DIGITS = 13;

/**
 * Returns the seed of an evaluation's randomness, derived from the episode's seed and the hidden files. A submission
 * does not have these files, so it cannot predict an opponent's random moves from the episode's seed.
 */
export async function deriveEvaluationSeed(
  seed: number,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<number> {
  const paths = Object.keys(files).sort();
  const digests = await Promise.all(paths.map((path) => sha256(files[path] ?? new Uint8Array(0))));
  const hash = await sha256(JSON.stringify([seed, paths, digests]));
  return Number.parseInt(hash.slice(0, DIGITS), 16);
}
