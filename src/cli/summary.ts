import type { EpisodeFailure } from "../errors.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { GroupScores } from "./group_scores.ts";
import { escapeControls } from "./printable.ts";

/** What is known of a run beforehand. */
export interface SummaryOptions {
  /** Episodes of each task; 1 unless given. */
  samples?: number;
  /** Whether a reward is how much better than a baseline an episode was; else 1 is right. */
  rewardsGain?: boolean | undefined;
}

/** What a run has come to so far, in numbers; trajectories themselves are not kept. */
export class Summary {
  readonly #startMs = performance.now();
  readonly #samples: number;
  readonly #rewardsGain: boolean;
  readonly #groups: GroupScores;
  readonly #calls = new Map<string, number>();
  #episodes = 0;
  #earlier = 0;
  #running = 0;
  #rewarded = 0;
  #unscored = 0;
  #right = 0;
  #rewards = 0;
  #failed = 0;
  #firstFailure: EpisodeFailure | undefined;
  #firstUnscored: string | undefined;

  constructor(options: SummaryOptions = {}) {
    const { samples = 1, rewardsGain = false } = options;
    this.#samples = samples;
    this.#rewardsGain = rewardsGain;
    this.#groups = new GroupScores(samples, { isRight: (reward) => this.#isRight(reward) });
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
    return this.#rewarded === 0 ? null : this.#rewards / this.#rewarded;
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
      this.#rewarded++;
      this.#rewards += reward;
    }
    if (reward === null || unscored !== undefined) this.#unscored++;
    else if (this.#isRight(reward)) this.#right++;
    for (const { status } of toolResults) this.#calls.set(status, (this.#calls.get(status) ?? 0) + 1);
  }

  /** The table at the end of a run. */
  formatTable(): string {
    const failure = this.#firstFailure;
    const earlier = this.#earlier > 0 ? ` (${this.#earlier} of an earlier run)` : "";
    const reason = this.#firstUnscored === undefined ? "" : ` (first: ${inLine(this.#firstUnscored)})`;
    const right = this.#rewardsGain ? "better" : "right";
    const wrong = this.#rewardsGain ? "not better" : "wrong";
    const rows: readonly (readonly [string, string])[] = [
      ["episodes", `${this.#episodes}${earlier}`],
      ["mean reward", this.meanReward?.toFixed(4) ?? "-"],
      [right, `${this.#right}`],
      [wrong, `${this.#episodes - this.#unscored - this.#right}`],
      ["unscored", `${this.#unscored}${reason}`],
      ...(this.#samples > 1 ? this.#groups.rows() : []),
      ["errors", `${this.#failed}`],
      ...(failure === undefined ? [] : [["first error", failureText(failure)] as const]),
      ["tool calls", this.#callTexts()],
      ["episodes/s", this.episodesPerSecond.toFixed(1)],
    ];
    return rows.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join("");
  }

  #isRight(reward: number): boolean {
    return this.#rewardsGain ? reward > 0 : reward >= 1;
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
  return escapeControls(text.trim().replace(/\s+/g, " "));
}
