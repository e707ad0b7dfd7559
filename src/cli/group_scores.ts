import type { Trajectory } from "../rollout/trajectory.ts";

interface Group {
  episodes: number;
  scored: number;
  right: number;
}

/** What the groups of a run have come to: the episodes of each task together. */
export class GroupScores {
  readonly #samples: number;
  readonly #open = new Map<string, Group>();
  #groups = 0;
  #solved = 0;
  #mixed = 0;

  /** `samples` is how many episodes a whole group has. */
  constructor(samples: number) {
    this.#samples = samples;
  }

  add({ task: { id }, reward }: Trajectory): void {
    const group = this.#open.get(id) ?? { episodes: 0, scored: 0, right: 0 };
    group.episodes++;
    if (reward !== null) group.scored++;
    if (reward !== null && reward >= 1) group.right++;
    this.#open.set(id, group);
    if (group.episodes < this.#samples) return;
    this.#open.delete(id);
    this.#groups++;
    if (group.right > 0) this.#solved++;
    if (group.right > 0 && group.right < group.scored) this.#mixed++;
  }

  /** Rows of a table: whole groups, those with a right episode, and those with right and wrong ones. */
  rows(): [string, string][] {
    const share = (count: number) => this.#groups === 0 ? "-" : `${count} of ${this.#groups}`;
    return [
      [`pass@${this.#samples}`, share(this.#solved)],
      ["mixed groups", share(this.#mixed)],
    ];
  }
}
