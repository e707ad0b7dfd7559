import { hashTask } from "../../hash.ts";
import type { InteractionResult } from "../../rollout/interaction_result.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import { UsageError } from "../errors.ts";

/** The episodes that an earlier run has played: which they are, and of which tasks. */
export class FinishedEpisodes {
  /** How many there are of one task and one sample. */
  readonly #counts = new Multiset();
  /** What the tasks of one id say; two tasks may have one id. */
  readonly #said = new Map<string, Set<string>>();

  /** True when there is none. */
  get isEmpty(): boolean {
    return this.#said.size === 0;
  }

  /** Takes note of an episode. */
  add({ task, sample }: Trajectory): void {
    this.#counts.add(episodeKeyOf(task, sample));
    addTo(this.#said, task);
  }

  /** Whether this episode is one of them; where two tasks are the same, each is asked for on its own. */
  take(task: Task, sample: number): boolean {
    return this.#counts.take(episodeKeyOf(task, sample));
  }

  /**
   * Refuses tasks that have the ids of those that were played and are others.
   *
   * @throws {UsageError} when there is one.
   */
  async requireSame(tasks: AsyncIterable<Task>): Promise<void> {
    const found = new Map<string, Set<string>>();
    for await (const task of tasks) {
      if (this.#said.has(task.id)) addTo(found, task);
    }
    for (const [id, known] of found) {
      if ([...this.#said.get(id) ?? []].every((said) => known.has(said))) continue;
      throw new UsageError(
        `Cannot resume as task '${id}' must be the one that was played: its query or its answer is another`,
      );
    }
  }
}

function addTo(said: Map<string, Set<string>>, task: Task): void {
  said.set(task.id, (said.get(task.id) ?? new Set()).add(hashTask(task)));
}

/** A record of episodes finished by an earlier run. */
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
  /** Number of remaining episodes of a task, if neither all nor none remain. */
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

  /** Returns the number of remaining episodes of a task. */
  remainingCount(id: string): number {
    return this.#left.get(id) ?? this.#samples;
  }
}

/** Key of an episode in a run. It includes the task's content, as two tasks may have the same id. */
export function episodeKeyOf(task: Task, sample: number): string {
  return keyOf(task.id, hashTask(task), sample);
}

/** The same of an episode as a trainer reads it. */
export function resultKeyOf({ task_id, task_hash, sample }: InteractionResult): string {
  return keyOf(task_id, task_hash, sample);
}

function keyOf(id: string, hash: string, sample: number): string {
  return `${sample} ${hash} ${id}`;
}

/** How often something was put there by its name, and not taken yet. */
export class Multiset {
  readonly #counts = new Map<string, number>();

  /** Counts one more. */
  add(name: string): void {
    this.#counts.set(name, this.count(name) + 1);
  }

  /** Whether there is one. */
  has(name: string): boolean {
    return this.#counts.has(name);
  }

  /** How many there are. */
  count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** The same counts, to be taken from on their own. */
  copy(): Multiset {
    const copy = new Multiset();
    for (const [name, count] of this.#counts) copy.#counts.set(name, count);
    return copy;
  }

  /** Takes one away, and says whether there was one. */
  take(name: string): boolean {
    const count = this.count(name);
    if (count > 1) this.#counts.set(name, count - 1);
    else this.#counts.delete(name);
    return count > 0;
  }
}
