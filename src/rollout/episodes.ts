import type { Task } from "../task.ts";

/** Episode to be played. */
export interface Episode {
  readonly task: Task;
  /** Number of the episode among those of its task, from 1. */
  readonly sample: number;
  readonly seed?: number;
}

/** Options of {@linkcode episodesOf}. */
export interface EpisodesOptions {
  /**
   * Number of episodes of each task, adjacent to each other.
   *
   * @default 1
   */
  samples?: number | undefined;
  /** Base seed. Each episode gets its own seed, derived from this one, the task's id and the sample number. */
  seed?: number | undefined;
  /** Skips the episodes for which it returns true. */
  skip?: ((task: Task, sample: number) => boolean) | undefined;
}

/**
 * Yields the episodes of tasks in order, those of one task adjacent.
 *
 * @throws {RangeError} if `samples` is not a whole number >= 1.
 */
export async function* episodesOf(
  tasks: AsyncIterable<Task> | Iterable<Task>,
  options: EpisodesOptions = {},
): AsyncGenerator<Episode> {
  const { samples = 1, seed, skip } = options;
  requireSamples(samples);
  for await (const task of tasks) {
    for (let sample = 1; sample <= samples; sample++) {
      if (skip?.(task, sample)) continue;
      yield { task, sample, ...(seed !== undefined && { seed: episodeSeed(seed, `${task.id}\n${sample}`) }) };
    }
  }
}

/**
 * Checks the number of samples.
 *
 * @throws {RangeError} if it is not a whole number >= 1.
 */
export function requireSamples(samples: number): void {
  if (Number.isInteger(samples) && samples >= 1) return;
  throw new RangeError(
    `Cannot roll out as 'samples' must be a whole number >= 1: current value is ${samples}`,
  );
}

/** Returns a 31-bit seed of an episode: FNV-1a over the base seed and the name. */
function episodeSeed(seed: number, name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${seed}\n${name}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 1;
}
