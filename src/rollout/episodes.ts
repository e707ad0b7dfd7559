import type { Task } from "../task.ts";

/** An episode that is to be played. */
export interface Episode {
  readonly task: Task;
  /** Which of the task's episodes it is, from 1. */
  readonly sample: number;
  readonly seed?: number;
}

/** How {@linkcode episodesOf} makes episodes of tasks. */
export interface EpisodesOptions {
  /** Episodes of each task, one behind the other; 1 unless given. */
  samples?: number | undefined;
  /** Gives each episode a seed of its own, which depends on this one, the task's id and the sample alone. */
  seed?: number | undefined;
  /** Leaves out the episodes for which it is true. */
  skip?: ((task: Task, sample: number) => boolean) | undefined;
}

/**
 * The episodes of tasks, in their order, those of one task adjacent.
 *
 * @throws {RangeError} when the number of samples is not a whole number of at least 1.
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
 * Refuses a number of samples that cannot be played.
 *
 * @throws {RangeError} when it is not a whole number of at least 1.
 */
export function requireSamples(samples: number): void {
  if (Number.isInteger(samples) && samples >= 1) return;
  throw new RangeError(
    `Cannot roll out as 'samples' must be a whole number >= 1: current value is ${samples}`,
  );
}

/** A seed of 31 bits that differs between episodes (FNV-1a over the seed and the name). */
function episodeSeed(seed: number, name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${seed}\n${name}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 1;
}
