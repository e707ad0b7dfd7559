import type { Task } from "../task.ts";

/** Whoever knows which episodes an earlier run has played. */
export interface EpisodeStore {
  /** Whether it was played; where two tasks have one id, each is asked for on its own. */
  takeFinished(task: Task, sample: number): boolean;
}

/**
 * What a run has still to play, where an earlier run has played a part of it: what any of its files lacks. Each
 * file may hold what another does not.
 */
export class RemainingEpisodes {
  readonly #files: readonly EpisodeStore[];
  readonly #samples: number;
  /** The samples of a task that each file has. */
  readonly #had = new WeakMap<Task, ReadonlyMap<EpisodeStore, ReadonlySet<number>>>();
  /** How many episodes of a task are to come, where that is neither all nor none. */
  readonly #left = new Map<string, number>();

  /** `files` know what is played already; `samples` is how many episodes a task has in all. */
  constructor(files: readonly EpisodeStore[], samples: number) {
    this.#files = files;
    this.#samples = samples;
  }

  /** Takes note of a task, once, before its episodes are asked for. */
  add(task: Task): void {
    const samples = Array.from({ length: this.#samples }, (_, at) => at + 1);
    const had = this.#files.map((file) =>
      [file, new Set(samples.filter((sample) => file.takeFinished(task, sample)))] as const
    );
    if (had.every(([, samples]) => samples.size === 0)) return;
    this.#had.set(task, new Map(had));
    const finished = samples.filter((sample) => this.isFinished(task, sample)).length;
    if (finished > 0 && finished < this.#samples) this.#left.set(task.id, this.#samples - finished);
  }

  /** Whether an earlier run has played this episode, and each file has it. */
  isFinished(task: Task, sample: number): boolean {
    return this.#files.length > 0 && this.#files.every((file) => !this.isMissing(file, { task, sample }));
  }

  /** Whether a file does not have this episode of an earlier run. */
  isMissing(file: EpisodeStore, { task, sample }: { task: Task; sample: number }): boolean {
    return !this.#had.get(task)?.get(file)?.has(sample);
  }

  /** How many episodes of a task are to come. */
  remainingCount(id: string): number {
    return this.#left.get(id) ?? this.#samples;
  }
}
