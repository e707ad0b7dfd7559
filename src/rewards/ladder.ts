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
 * Makes the function that scores replies by a ladder. Its parts: `reward_answer`, `reward_think` and
 * `success` are 1 where there is an answer block with something in it, a thought, the right answer, and else 0;
 * `reward_right` is what it was worth.
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
