import { finalReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { ladder, type LadderOptions } from "./ladder.ts";
import { lastBoxed } from "./math/boxed.ts";
import { isSameAnswer } from "./math/same_answer.ts";
import { taggedReply } from "./tagged_reply.ts";

/** Longer than any answer; what is longer is compared no further. */
const MAX_CHARACTERS = 2_000;

/**
 * Scores the answer to a problem of mathematics: 1 when it is right, 0.1 when a wrong one stands in
 * `<answer>…</answer>`, else 0; `null` when the task has no answer. The ladder is that of TorchRL's
 * `MATHRewardParser`.
 *
 * The truth is what the last balanced `\boxed{…}` of the task's answer holds, or all of it. Of a reply the first
 * answer block counts, or a box in it; without a block the last box, and without a box the line behind the last `answer is`, all
 * outside of `<think>…</think>`.
 *
 * Numbers and expressions are compared by value, exactly where they are fractions: `\frac12`, `0.5` and `1/2` are
 * one, and so are `\sqrt{8}` and `2\sqrt2`, `x(x+1)` and `x^2+x`. Sets and several answers may come in any order;
 * tuples, intervals and matrices may not. With variables, expressions are one when they are so at many points, some
 * of them below 0, of which some must give both a value: `|x|` is not `x`. Money, degrees, per cent, units and `x =` say nothing. Equations
 * may be multiplied and have their sides changed. What is none of these, such as an inequality or a word, is
 * compared as text without spaces. Nothing is run.
 *
 * @throws {RangeError} when a reward is no finite number.
 */
export function math(options: LadderOptions = {}): Grader {
  const scoreOf = ladder(options);
  return {
    name: "math",
    grade({ task, history }) {
      const truth = boxedOr(task.answer?.trim() ?? "");
      if (truth === "") return null;
      const { thoughts, answers: [answer], spoken } = taggedReply(finalReply(history));
      const given = answer === undefined ? lastBoxed(spoken) ?? stated(spoken) : boxedOr(answer.trim());
      return scoreOf({
        right: given !== undefined && given.length <= MAX_CHARACTERS && isSameAnswer(given, truth),
        hasAnswer: answer !== undefined && answer.trim() !== "",
        hasThought: thoughts.length > 0,
      });
    },
  };
}

function boxedOr(text: string): string {
  return lastBoxed(text) ?? text;
}

function stated(text: string): string | undefined {
  const statement = [...text.matchAll(/\banswer is\b:?/gi)].at(-1);
  return statement && text.slice(statement.index + statement[0].length).split("\n", 1)[0]?.trim();
}
