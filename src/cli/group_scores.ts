import type { Trajectory } from "../rollout/trajectory.ts";

interface Group {
  episodes: number;
  readonly rewards: number[];
}

/** What the groups of a run have come to: the episodes of each task together. */
export class GroupScores {
  readonly #samples: number;
  readonly #isRight: (reward: number) => boolean;
  readonly #open = new Map<string, Group>();
  #groups = 0;
  #solved = 0;
  #mixed = 0;
  #deviations = 0;

  /** `samples` is how many episodes a whole group has. */
  constructor(samples: number, options: { isRight: (reward: number) => boolean }) {
    this.#samples = samples;
    this.#isRight = options.isRight;
  }

  add({ task: { id }, reward }: Trajectory): void {
    const group = this.#open.get(id) ?? { episodes: 0, rewards: [] };
    group.episodes++;
    if (reward !== null) group.rewards.push(reward);
    this.#open.set(id, group);
    if (group.episodes < this.#samples) return;
    this.#open.delete(id);
    this.#addWhole(group.rewards);
  }

  /** Rows of a table on the whole groups. */
  rows(): [string, string][] {
    const share = (count: number) => this.#groups === 0 ? "-" : `${count} of ${this.#groups}`;
    const spread = this.#groups === 0 ? "-" : (this.#deviations / this.#groups).toFixed(4);
    return [
      [`pass@${this.#samples}`, share(this.#solved)],
      ["mixed groups", share(this.#mixed)],
      ["group spread", spread],
    ];
  }

  #addWhole(rewards: readonly number[]): void {
    const right = rewards.filter(this.#isRight).length;
    this.#groups++;
    if (right > 0) this.#solved++;
    if (right > 0 && right < rewards.length) this.#mixed++;
    this.#deviations += standardDeviation(rewards);
  }
}

/** How far numbers are from their mean; 0 for none. */
function standardDeviation(numbers: readonly number[]): number {
  if (numbers.length === 0) return 0;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const mean = sum(numbers) / numbers.length;
  return Math.sqrt(sum(numbers.map((number) => (number - mean) ** 2)) / numbers.length);
}
