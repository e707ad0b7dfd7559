import type { EpisodeFailure } from "../../../errors.ts";
import type { Reply } from "../../../policy/policy.ts";
import type { EpisodeCut } from "../../../rollout/interaction.ts";
import { describeCut, type Trajectory } from "../../../rollout/trajectory.ts";
import { escapeControls } from "../../../terminal_text.ts";
import { NotRunSummary } from "../../../tools/code_blocks/blocks_not_run.ts";

/** Options of {@linkcode Summary}. */
export interface SummaryOptions {
  /** Number of episodes per task. @default 1 */
  samples?: number;
  /** True if a reward is the gain over a baseline; else a reward of 1 counts as right. @default false */
  rewardsGain?: boolean | undefined;
  /** Maximum tokens of a reply, if the user has not chosen a maximum. */
  defaultMaxTokens?: number | undefined;
}

/** Statistics of a run so far; trajectories are not stored. */
export class Summary {
  readonly #startMs = performance.now();
  readonly #samples: number;
  readonly #rewardsGain: boolean;
  readonly #defaultMaxTokens: number | undefined;
  readonly #groups: GroupScores;
  readonly #calls = new Map<string, number>();
  readonly #notRun = new NotRunSummary();
  #repliesWithNotRun = 0;
  #episodes = 0;
  #earlier = 0;
  #running = 0;
  #rewarded = 0;
  #unscored = 0;
  #right = 0;
  #rewards = 0;
  #failed = 0;
  readonly #cuts = new Map<EpisodeCut, number>();
  readonly #tokens = new TokenCounts();
  #earlierReplyTokens = 0;
  /** Tokens of the replies so far, also of running episodes. */
  #repliedTokens = 0;
  #firstFailure: EpisodeFailure | undefined;
  #firstUnscored: string | undefined;

  constructor(options: SummaryOptions = {}) {
    const { samples = 1, rewardsGain = false } = options;
    this.#samples = samples;
    this.#rewardsGain = rewardsGain;
    this.#defaultMaxTokens = options.defaultMaxTokens;
    this.#groups = new GroupScores(samples, { isRight: (reward) => this.#isRight(reward) });
  }

  /** Number of finished episodes, including episodes of an earlier run. */
  get episodes(): number {
    return this.#episodes;
  }

  /** Number of episodes finished before this run. */
  get earlier(): number {
    return this.#earlier;
  }

  /** Number of running episodes. */
  get running(): number {
    return this.#running;
  }

  /** Number of episodes that ended because something failed. */
  get failed(): number {
    return this.#failed;
  }

  /** Number of episodes that a limit of tokens cut off. */
  get cut(): number {
    return this.#cuts.values().reduce((sum, count) => sum + count, 0);
  }

  /** Mean of the rewards; `null` without rewards. */
  get meanReward(): number | null {
    return this.#rewarded === 0 ? null : this.#rewards / this.#rewarded;
  }

  /** Episodes of this run per second. */
  get episodesPerSecond(): number {
    return (this.#episodes - this.#earlier) / ((performance.now() - this.#startMs) / 1000);
  }

  /** Records a reply of a running episode, so that the reply's tokens count before the episode ends. */
  recordReply({ usage }: Pick<Reply, "usage">): void {
    this.#repliedTokens += usage?.replyTokens ?? 0;
  }

  /** Tokens of the replies of this run per second; `undefined` if no server counts them. */
  get tokensPerSecond(): number | undefined {
    const tokens = Math.max(this.#repliedTokens, this.#tokens.replyTokens - this.#earlierReplyTokens);
    return tokens === 0 ? undefined : tokens / ((performance.now() - this.#startMs) / 1000);
  }

  /** Records the start of an episode. */
  start(): void {
    this.#running++;
  }

  /** Records the end of a started episode. */
  end(trajectory: Trajectory): void {
    this.#running--;
    this.add(trajectory);
  }

  /** Adds an episode of an earlier run. */
  addEarlier(trajectory: Trajectory): void {
    this.#earlier++;
    this.add(trajectory);
    this.#earlierReplyTokens = this.#tokens.replyTokens;
  }

  /** Adds a finished episode. */
  add(trajectory: Trajectory): void {
    const { reward, error, unscored, cut, toolResults, steps } = trajectory;
    this.#episodes++;
    this.#groups.add(trajectory);
    this.#tokens.add(trajectory);
    if (error !== undefined) this.#failed++;
    if (cut !== undefined) this.#cuts.set(cut, (this.#cuts.get(cut) ?? 0) + 1);
    this.#firstFailure ??= error;
    this.#firstUnscored ??= unscored;
    if (reward !== null) {
      this.#rewarded++;
      this.#rewards += reward;
    }
    if (reward === null || unscored !== undefined) this.#unscored++;
    else if (this.#isRight(reward)) this.#right++;
    for (const { blocksNotRun = [] } of steps) {
      if (blocksNotRun.length > 0) this.#repliesWithNotRun++;
      this.#notRun.add(blocksNotRun);
    }
    for (const { status } of toolResults) this.#calls.set(status, (this.#calls.get(status) ?? 0) + 1);
  }

  /** Returns the table at the end of a run. */
  formatTable(): string {
    const failure = this.#firstFailure;
    const earlier = this.#earlier > 0 ? ` (${this.#earlier} of an earlier run)` : "";
    const reason = this.#firstUnscored === undefined ? "" : ` (first: ${toLine(this.#firstUnscored)})`;
    const right = this.#rewardsGain ? "better" : "right";
    const wrong = this.#rewardsGain ? "not better" : "wrong";
    const rows: readonly (readonly [string, string])[] = [
      ["episodes", `${this.#episodes}${earlier}`],
      ["mean reward", this.meanReward?.toFixed(4) ?? "-"],
      [right, `${this.#right}`],
      [wrong, `${this.#episodes - this.#unscored - this.#right}`],
      ["unscored", `${this.#unscored}${reason}`],
      ...(this.#samples > 1 ? this.#groups.rows() : []),
      ...(this.cut === 0 ? [] : [["cut off", this.#cutTexts()] as const]),
      ["errors", `${this.#failed}`],
      ...(failure === undefined ? [] : [["first error", failureText(failure)] as const]),
      ["tool calls", this.#callTexts()],
      ...(this.#notRun.total === 0 ? [] : [["not run", this.#notRunText()] as const]),
      ...this.#tokens.rows(),
      ["episodes/s", this.episodesPerSecond.toFixed(1)],
      ...(this.tokensPerSecond === undefined ? [] : [["tokens/s", this.tokensPerSecond.toFixed(0)] as const]),
    ];
    return rows.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join("");
  }

  #isRight(reward: number): boolean {
    return this.#rewardsGain ? reward > 0 : reward >= 1;
  }

  #cutTexts(): string {
    const texts = [...this.#cuts].map(([cut, count]) => `${count} ${describeCut(cut)}`);
    const byDefault = this.#defaultMaxTokens !== undefined && this.#cuts.has("length")
      ? `; --max-tokens is ${this.#defaultMaxTokens} by default`
      : "";
    return `${this.cut} (${texts.join(", ")}${byDefault})`;
  }

  #notRunText(): string {
    const replies = `${this.#repliesWithNotRun} ${this.#repliesWithNotRun === 1 ? "reply" : "replies"}`;
    return `${toLine(this.#notRun.describe())} ${this.#notRun.noun}, in ${replies}`;
  }

  #callTexts(): string {
    const counts = [...this.#calls].sort(([, one], [, other]) => other - one);
    const total = counts.reduce((sum, [, count]) => sum + count, 0);
    const byStatus = counts.map(([status, count]) => `${count} ${status}`);
    return total === 0 ? "0" : `${total} (${byStatus.join(", ")})`;
  }
}

/** Tokens and finish reasons of replies, as their servers report them. */
class TokenCounts {
  readonly #reasons = new Map<string, number>();
  #promptTokens = 0;
  replyTokens = 0;

  add({ steps }: Trajectory): void {
    for (const { usage, finishReason } of steps) {
      this.#promptTokens += usage?.promptTokens ?? 0;
      this.replyTokens += usage?.replyTokens ?? 0;
      if (finishReason === undefined) continue;
      const reason = this.#reasons.size < MAX_REASONS || this.#reasons.has(finishReason)
        ? finishReason
        : "other";
      this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
    }
  }

  /** Returns the table rows; none if no server has reported anything. */
  rows(): [string, string][] {
    const reasons = [...this.#reasons].sort(([, one], [, other]) => other - one);
    const replies = reasons.reduce((sum, [, count]) => sum + count, 0);
    const texts = reasons.map(([reason, count]) => `${count} ${toLine(reason)}`).join(", ");
    const tokens = this.#promptTokens + this.replyTokens;
    return [
      ...(replies === 0 ? [] : [["replies", `${replies} (${texts})`] satisfies [string, string]]),
      ...(tokens === 0 ? [] : [
        ["tokens", `${this.replyTokens} in replies, ${this.#promptTokens} in prompts`] satisfies [
          string,
          string,
        ],
      ]),
    ];
  }
}

/** Maximum number of finish reasons that are counted by name. A server may send any text. */
const MAX_REASONS = 8;

/** Returns a failure as a line. A failure may contain text of a server, so the line is escaped. */
function failureText({ boundary, message, fault }: EpisodeFailure): string {
  const hint = boundary === "policy" && fault === "timeout"
    ? "; --max-tokens shortens replies, --request-timeout-ms waits longer"
    : "";
  return toLine(`${boundary}: ${message}`) + hint;
}

export function toLine(text: string): string {
  return escapeControls(text.trim().replace(/\s+/g, " "));
}

interface Group {
  episodes: number;
  readonly rewards: number[];
}

/** Statistics of the groups of a run. A group is all episodes of a task. */
class GroupScores {
  readonly #samples: number;
  readonly #isRight: (reward: number) => boolean;
  readonly #open = new Map<string, Group>();
  #groups = 0;
  #solved = 0;
  #mixed = 0;
  #deviations = 0;

  /** `samples` is the number of episodes of a complete group. */
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

  /** Returns the table rows of complete groups. */
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

/** Returns the standard deviation; 0 without numbers. */
function standardDeviation(numbers: readonly number[]): number {
  if (numbers.length === 0) return 0;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const mean = sum(numbers) / numbers.length;
  return Math.sqrt(sum(numbers.map((number) => (number - mean) ** 2)) / numbers.length);
}
