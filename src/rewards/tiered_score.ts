import type { Score } from "./grader.ts";

/** Rewards of the tiers. */
export interface TieredScoreOptions {
  /**
   * Reward for the right answer.
   * @default 1
   */
  correctReward?: number | undefined;
  /**
   * Reward for a wrong answer in `<answer>…</answer>`.
   * @default 0.1
   */
  formatReward?: number | undefined;
}

/** Facts about a reply that decide the tier. */
export interface TieredReply {
  readonly right: boolean;
  readonly hasAnswer: boolean;
  readonly hasThought: boolean;
}

/**
 * Makes a function that scores replies by tiers. The parts: `reward_answer` is 1 if there is a non-empty
 * answer block, `reward_think` if there is a thought, and `success` if the answer is right, else 0;
 * `reward_right` is the score.
 *
 * @throws {RangeError} when a reward is not a finite number.
 */
export function tieredScore(options: TieredScoreOptions): (reply: TieredReply) => Score {
  const { correctReward = 1, formatReward = 0.1 } = options;
  for (const [name, reward] of Object.entries({ correctReward, formatReward })) {
    if (Number.isFinite(reward)) continue;
    throw new RangeError(
      `Cannot score replies as '${name}' must be a finite number: current value is ${reward}`,
    );
  }
  return ({ right, hasAnswer, hasThought }) => {
    const score = right ? correctReward : hasAnswer ? formatReward : 0;
    const parts = {
      reward_answer: Number(hasAnswer),
      reward_think: Number(hasThought),
      reward_right: score,
      success: Number(right),
    };
    return { score, parts };
  };
}
