import { sha256 } from "../../../sandbox/sha256.ts";

/** Hexadecimal digits of a number that is still a safe integer. */
const DIGITS = 13;

/**
 * The seed of an evaluation's chance: the same for the same seed and the same hidden files. Whoever does not have
 * these files, which no submission does, cannot tell an opponent's chance from the seed of its episode.
 */
export async function evaluationSeed(
  seed: number,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<number> {
  const paths = Object.keys(files).sort();
  const digests = await Promise.all(paths.map((path) => sha256(files[path] ?? new Uint8Array(0))));
  const hash = await sha256(JSON.stringify([seed, paths, digests]));
  return Number.parseInt(hash.slice(0, DIGITS), 16);
}
