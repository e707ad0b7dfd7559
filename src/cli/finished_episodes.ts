import type { Trajectory } from "../rollout/trajectory.ts";
import type { Task } from "../task.ts";
import { hashTask } from "../hash.ts";
import { episodeKeyOf } from "./episode_key.ts";
import { Multiset } from "./tally.ts";
import { UsageError } from "./usage_error.ts";

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
