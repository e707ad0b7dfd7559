import { groupOf, type Task, type TaskInput, toTask } from "../task.ts";
import type { Episode } from "./rollout_all.ts";
import { groupOfEpisode, type Trajectory } from "./trajectory.ts";

/** Episode of a group. */
export interface GroupedEpisode {
  readonly taskId: string;
  /** Number of the episode among the task's episodes, from 1. */
  readonly sample: number;
  /** `null` if the episode was not scored, or the reward is not a finite number. */
  readonly reward: number | null;
}

/** Episode with the name of the group, which an env may have chosen. */
interface NamedEpisode extends GroupedEpisode {
  readonly group: string;
}

/** Group of which episodes may still start or run. */
interface OpenGroup {
  readonly id: string;
  /** Episodes in the order of their starts. */
  readonly episodes: NamedEpisode[];
  running: number;
  /** True if no further episode starts. */
  isClosed: boolean;
}

/** Group of a task's episodes and their positions in the group, by sample. */
interface Place {
  readonly group: OpenGroup;
  readonly positions: Map<number, number>;
}

/**
 * Groups whose episodes have not all ended. Calls `onComplete` with each group when the group's last episode has ended;
 * with several if the env has chosen what the episodes play.
 */
export class OpenGroups {
  readonly #onComplete: (group: string, episodes: readonly GroupedEpisode[]) => void;
  /** Group of the last task that was read. */
  #current: OpenGroup | undefined;
  readonly #places = new WeakMap<Task, Place>();

  constructor(onComplete: (group: string, episodes: readonly GroupedEpisode[]) => void) {
    this.#onComplete = onComplete;
  }

  /**
   * Yields copies of the tasks, so that a task that comes twice is two groups. A task without a `group` closes the task's
   * own group when the next task is requested, after the start of the task's last sample; another group ends with the next
   * task of a different group.
   */
  async *watch(tasks: AsyncIterable<TaskInput> | Iterable<TaskInput>): AsyncGenerator<Task> {
    for await (const original of tasks) {
      const task = { ...toTask(original) };
      const id = groupOf(task);
      if (this.#current?.id !== id) this.#close();
      this.#current ??= { id, episodes: [], running: 0, isClosed: false };
      this.#places.set(task, { group: this.#current, positions: new Map() });
      yield task;
      if (task.group === undefined) this.#close();
    }
    this.#close();
  }

  start({ task, sample }: Episode): void {
    const place = this.#places.get(task);
    if (place === undefined) return;
    place.positions.set(sample, place.group.episodes.length);
    place.group.episodes.push({ taskId: task.id, sample, reward: null, group: place.group.id });
    place.group.running++;
  }

  end(trajectory: Trajectory): void {
    const { task, sample, reward } = trajectory;
    const { group, positions } = this.#places.get(task) ?? {};
    const position = positions?.get(sample);
    if (group === undefined || position === undefined) return;
    const isScored = reward !== null && Number.isFinite(reward);
    const named = { taskId: task.id, sample, group: groupOfEpisode(trajectory) };
    group.episodes[position] = { ...named, reward: isScored ? reward : null };
    group.running--;
    this.#completeIfOver(group);
  }

  #close(): void {
    const group = this.#current;
    this.#current = undefined;
    if (group === undefined) return;
    group.isClosed = true;
    this.#completeIfOver(group);
  }

  #completeIfOver({ episodes, running, isClosed }: OpenGroup): void {
    if (!isClosed || running > 0) return;
    for (const [name, named] of Map.groupBy(episodes, ({ group }) => group)) {
      this.#onComplete(name, named.map(({ group: _group, ...episode }) => episode));
    }
  }
}
