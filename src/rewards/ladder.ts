import type { Score } from "./grader.ts";

/** What the rungs of a ladder are worth. */
export interface LadderOptions {
  /** For the right answer; 1 unless given. */
  correctReward?: number | undefined;
  /** For a wrong answer that stands in `<answer>…</answer>`; 0.1 unless given. */
  formatReward?: number | undefined;
}

/** What a reply reached. */
export interface LadderReply {
  readonly right: boolean;
  readonly hasAnswer: boolean;
  readonly hasThought: boolean;
}

/**
 * Makes the function that scores replies by a ladder. Its parts are 1 or 0: `reward_answer` for an answer block,
 * `reward_think` for a thought, `reward_right` and `success` for the right answer.
 *
 * @throws {RangeError} when a reward is no finite number.
 */
export function ladder(options: LadderOptions): (reply: LadderReply) => Score {
  const { correctReward = 1, formatReward = 0.1 } = options;
  for (const [name, reward] of Object.entries({ correctReward, formatReward })) {
    if (Number.isFinite(reward)) continue;
    throw new RangeError(
      `Cannot score by a ladder as '${name}' must be a finite number: current value is ${reward}`,
    );
  }
  return ({ right, hasAnswer, hasThought }) => ({
    score: right ? correctReward : hasAnswer ? formatReward : 0,
    parts: {
      reward_answer: Number(hasAnswer),
      reward_think: Number(hasThought),
      reward_right: Number(right),
      success: Number(right),
    },
  });
}
