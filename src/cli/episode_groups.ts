import type { Trajectory } from "../rollout/trajectory.ts";

/** Brings the episodes of one task together, in whatever order they end. */
export class EpisodeGroups {
  readonly #expected: (id: string) => number;
  readonly #open = new Map<string, Trajectory[]>();

  /** `expected` says how many episodes of a task are to come in all. */
  constructor(expected: (id: string) => number) {
    this.#expected = expected;
  }

  /** Takes an episode and gives those that can go on: its whole group when it was the last of it. */
  add(trajectory: Trajectory): Trajectory[] {
    const { id } = trajectory.task;
    const group = [...this.#open.get(id) ?? [], trajectory];
    this.#open.set(id, group);
    if (group.length < this.#expected(id)) return [];
    this.#open.delete(id);
    return inOrder(group);
  }

  /** The episodes of groups that never became whole. */
  takeRest(): Trajectory[] {
    const rest = [...this.#open.values()].flatMap(inOrder);
    this.#open.clear();
    return rest;
  }
}

function inOrder(group: readonly Trajectory[]): Trajectory[] {
  return group.toSorted((one, other) => one.sample - other.sample);
}
