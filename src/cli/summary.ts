import type { EpisodeFailure } from "../episode_failure.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { GroupScores } from "./group_scores.ts";
import { printable } from "./printable.ts";

/** What a run has come to so far, in numbers; trajectories themselves are not kept. */
export class Summary {
  readonly #startMs = performance.now();
  readonly #samples: number;
  readonly #groups: GroupScores;
  readonly #calls = new Map<string, number>();
  #episodes = 0;
  #earlier = 0;
  #running = 0;
  #scored = 0;
  #right = 0;
  #rewards = 0;
  #failed = 0;
  #firstFailure: EpisodeFailure | undefined;
  #firstUnscored: string | undefined;

  constructor(options: { samples?: number } = {}) {
    const { samples = 1 } = options;
    this.#samples = samples;
    this.#groups = new GroupScores(samples);
  }

  /** How many episodes are over, those of an earlier run among them. */
  get episodes(): number {
    return this.#episodes;
  }

  /** How many were over before this run. */
  get earlier(): number {
    return this.#earlier;
  }

  /** How many are being played. */
  get running(): number {
    return this.#running;
  }

  /** How many of them ended because something failed. */
  get failed(): number {
    return this.#failed;
  }

  /** The mean of the rewards that were given; `null` when none was. */
  get meanReward(): number | null {
    return this.#scored === 0 ? null : this.#rewards / this.#scored;
  }

  /** Episodes of this run per second. */
  get episodesPerSecond(): number {
    return (this.#episodes - this.#earlier) / ((performance.now() - this.#startMs) / 1000);
  }

  /** An episode has begun. */
  start(): void {
    this.#running++;
  }

  /** An episode that had begun is over. */
  end(trajectory: Trajectory): void {
    this.#running--;
    this.add(trajectory);
  }

  /** An episode of an earlier run. */
  addEarlier(trajectory: Trajectory): void {
    this.#earlier++;
    this.add(trajectory);
  }

  /** An episode that is over. */
  add(trajectory: Trajectory): void {
    const { reward, error, unscored, toolResults } = trajectory;
    this.#episodes++;
    this.#groups.add(trajectory);
    if (error !== undefined) this.#failed++;
    this.#firstFailure ??= error;
    this.#firstUnscored ??= unscored;
    if (reward !== null) {
      this.#scored++;
      this.#rewards += reward;
      if (reward >= 1) this.#right++;
    }
    for (const { status } of toolResults) this.#calls.set(status, (this.#calls.get(status) ?? 0) + 1);
  }

  /** The table at the end of a run. */
  table(): string {
    const failure = this.#firstFailure;
    const earlier = this.#earlier > 0 ? ` (${this.#earlier} of an earlier run)` : "";
    const reason = this.#firstUnscored === undefined ? "" : ` (first: ${inLine(this.#firstUnscored)})`;
    const rows: readonly (readonly [string, string])[] = [
      ["episodes", `${this.#episodes}${earlier}`],
      ["mean reward", this.meanReward?.toFixed(4) ?? "-"],
      ["right", `${this.#right}`],
      ["wrong", `${this.#scored - this.#right}`],
      ["unscored", `${this.#episodes - this.#scored}${reason}`],
      ...(this.#samples > 1 ? this.#groups.rows() : []),
      ["errors", `${this.#failed}`],
      ...(failure === undefined ? [] : [["first error", failureText(failure)] as const]),
      ["tool calls", this.#callTexts()],
      ["episodes/s", this.episodesPerSecond.toFixed(1)],
    ];
    return rows.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join("");
  }

  #callTexts(): string {
    const counts = [...this.#calls].sort(([, one], [, other]) => other - one);
    const total = counts.reduce((sum, [, count]) => sum + count, 0);
    const byStatus = counts.map(([status, count]) => `${count} ${status}`);
    return total === 0 ? "0" : `${total} (${byStatus.join(", ")})`;
  }
}

/** A failure in one line; a server's words may be in it. */
function failureText({ boundary, message }: EpisodeFailure): string {
  return inLine(`${boundary}: ${message}`);
}

function inLine(text: string): string {
  return printable(text.trim().replace(/\s+/g, " "));
}
