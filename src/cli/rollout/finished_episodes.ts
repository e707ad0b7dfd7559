import { hashTask, type InteractionResult } from "../../rollout/interaction_result.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import { UsageError } from "../cli_errors.ts";

/** Episodes that an earlier run has played, with their tasks. */
export class FinishedEpisodes {
  /** Number of episodes of each task and sample. */
  readonly #counts = new Multiset();
  /** Contents of the tasks of an id. Two tasks may have the same id. */
  readonly #said = new Map<string, Set<string>>();

  /** True if there are no episodes. */
  get isEmpty(): boolean {
    return this.#said.size === 0;
  }

  /** Adds an episode. */
  add({ task, sample }: Trajectory): void {
    this.#counts.add(episodeKeyOf(task, sample));
    addTo(this.#said, task);
  }

  /** Returns true if the episode was played, and counts the episode. Equal tasks are counted separately. */
  take(task: Task, sample: number): boolean {
    return this.#counts.take(episodeKeyOf(task, sample));
  }

  /**
   * Refuses tasks that have the id of a played task but another content.
   *
   * @throws {UsageError} if there is such a task.
   */
  async requireSame(tasks: AsyncIterable<Task>): Promise<void> {
    const found = new Map<string, Set<string>>();
    for await (const task of tasks) {
      if (this.#said.has(task.id)) addTo(found, task);
    }
    for (const [id, known] of found) {
      if ([...this.#said.get(id) ?? []].every((said) => known.has(said))) continue;
      throw new UsageError(
        `Cannot resume as task '${id}' must be equal to the played one: found another query or answer`,
      );
    }
  }
}

function addTo(said: Map<string, Set<string>>, task: Task): void {
  said.set(task.id, (said.get(task.id) ?? new Set()).add(hashTask(task)));
}

/** A record of episodes finished by an earlier run. */
export interface EpisodeStore {
  /** Returns true if the episode was played, and counts the episode. Tasks with the same id are counted separately. */
  takeFinished(task: Task, sample: number): boolean;
}

/**
 * Episodes that a run still has to play after an earlier run: episodes that are missing in any file of the run. The files
 * may hold different episodes.
 */
export class RemainingEpisodes {
  readonly #files: readonly EpisodeStore[];
  readonly #samples: number;
  /** Samples of a task that each file has. */
  readonly #had = new WeakMap<Task, ReadonlyMap<EpisodeStore, ReadonlySet<number>>>();
  /** Number of remaining episodes of a task, if neither all nor none remain. */
  readonly #left = new Map<string, number>();

  /** `files` are the records of earlier episodes; `samples` is the number of episodes per task. */
  constructor(files: readonly EpisodeStore[], samples: number) {
    this.#files = files;
    this.#samples = samples;
  }

  /** Adds a task. A task must be added once, before the task's episodes are queried. */
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

  /** Returns true if each file has this episode. */
  isFinished(task: Task, sample: number): boolean {
    return this.#files.length > 0 && this.#files.every((file) => !this.isMissing(file, { task, sample }));
  }

  /** Returns true if a file lacks this episode. */
  isMissing(file: EpisodeStore, { task, sample }: { task: Task; sample: number }): boolean {
    return !this.#had.get(task)?.get(file)?.has(sample);
  }

  /** Returns the number of remaining episodes of a task. */
  remainingCount(id: string): number {
    return this.#left.get(id) ?? this.#samples;
  }
}

/** Key of an episode in a run. The key includes the task's content, as two tasks may have the same id. */
export function episodeKeyOf(task: Task, sample: number): string {
  return keyOf(task.id, hashTask(task), sample);
}

/** Key of an episode in a training file. */
export function resultKeyOf({ task_id, task_hash, sample }: InteractionResult): string {
  return keyOf(task_id, task_hash, sample);
}

function keyOf(id: string, hash: string, sample: number): string {
  return `${sample} ${hash} ${id}`;
}

/** Multiset of names. */
export class Multiset {
  readonly #counts = new Map<string, number>();

  /** Adds a name. */
  add(name: string): void {
    this.#counts.set(name, this.count(name) + 1);
  }

  /** Returns true if the multiset contains the name. */
  has(name: string): boolean {
    return this.#counts.has(name);
  }

  /** Number of names. */
  count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Returns an independent copy. */
  copy(): Multiset {
    const copy = new Multiset();
    for (const [name, count] of this.#counts) copy.#counts.set(name, count);
    return copy;
  }

  /** Removes a name. Returns false if the name is not contained. */
  take(name: string): boolean {
    const count = this.count(name);
    if (count > 1) this.#counts.set(name, count - 1);
    else this.#counts.delete(name);
    return count > 0;
  }
}
