import type { Trajectory } from "../../../rollout/trajectory.ts";
import { escapeLine } from "../../../terminal_text.ts";

/** Number of failed first episodes after which the run is unlikely to succeed. */
const FAILURES_BEFORE_WARNING = 8;

/**
 * Warns if the first episodes of a run all fail because the server is unreachable or refuses the requests, or all end
 * before a reply because their first prompts exceed the context of the model.
 */
export class StartupFailureWarning {
  #failures = 0;
  #isDone = false;

  /** Adds an episode. Returns the warning when due, once. */
  add({ error, turns, cut, unscored = "" }: Trajectory): string | undefined {
    if (this.#isDone) return undefined;
    const isServerFailure = error?.fault === "unreachable" || error?.fault === "refused";
    const isTooLong = cut === "context" && turns === 0;
    this.#isDone = !(isServerFailure || isTooLong) || ++this.#failures >= FAILURES_BEFORE_WARNING;
    if (!(isServerFailure || isTooLong) || !this.#isDone) return undefined;
    const what = isTooLong ? "ended without a reply" : "failed";
    return `warning: the first ${FAILURES_BEFORE_WARNING} episodes all ${what}: ${
      escapeLine(error?.message ?? unscored)
    }. Ctrl-C ends the run.\n`;
  }
}

/** Groups the episodes of each task, in whatever order they end. */
export class EpisodeGroups {
  readonly #expected: (id: string) => number;
  readonly #open = new Map<string, Trajectory[]>();

  /** `expected` returns the total number of episodes of a task. */
  constructor(expected: (id: string) => number) {
    this.#expected = expected;
  }

  /** Adds an episode. Returns the group in the order of samples if the group is complete, else nothing. */
  add(trajectory: Trajectory): Trajectory[] {
    const { id } = trajectory.task;
    const group = [...this.#open.get(id) ?? [], trajectory];
    this.#open.set(id, group);
    if (group.length < this.#expected(id)) return [];
    this.#open.delete(id);
    return sortBySample(group);
  }

  /** Returns and removes the episodes of incomplete groups. */
  takeRest(): Trajectory[] {
    const rest = [...this.#open.values()].flatMap(sortBySample);
    this.#open.clear();
    return rest;
  }
}

function sortBySample(group: readonly Trajectory[]): Trajectory[] {
  return group.toSorted((one, other) => one.sample - other.sample);
}
