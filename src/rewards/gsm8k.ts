import { finalReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { ladder, type LadderOptions } from "./ladder.ts";
import { isSameNumber, numbersIn, statedNumber } from "./plain_number.ts";
import { taggedReply } from "./tagged_reply.ts";

/** How {@linkcode gsm8k} grades. */
export interface Gsm8kOptions extends LadderOptions {
  /**
   * What a reply without `<answer>` is graded by: the number `stated` behind its last `####` or `answer is`, or
   * `none`, so that it is worth 0.
   */
  untagged?: "stated" | "none" | undefined;
}

/**
 * Scores the answer to a problem of GSM8K: 1 when it is right, 0.1 when a wrong one stands in `<answer>…</answer>`,
 * else 0; `null` when the task has no answer. The ladder and its parts are those of TorchRL's `GSM8KRewardParser`.
 *
 * The truth is what the task's answer has behind `####`, or all of it. Of a reply its first answer block counts,
 * and what stands in `<think>…</think>` does not. `1,234`, `$1234`, `1234.00`, `1234%` and `1234.` are one answer.
 * A reply without a block that states the right number, as in `The answer is 18`, scores 1 too; a wrong one 0.
 *
 * @throws {RangeError} when a reward is no finite number.
 */
export function gsm8k(options: Gsm8kOptions = {}): Grader {
  const { untagged = "stated" } = options;
  if (untagged !== "stated" && untagged !== "none") {
    throw new TypeError(
      `Cannot grade GSM8K as 'untagged' must be 'stated' or 'none': current value is '${untagged}'`,
    );
  }
  const scoreOf = ladder(options);
  return {
    name: "gsm8k",
    grade({ task, history }) {
      const truth = (task.answer ?? "").split("####").at(-1)?.trim() ?? "";
      if (truth === "") return null;
      const { thoughts, answers: [answer], spoken } = taggedReply(finalReply(history));
      const given = answer ?? (untagged === "stated" ? statedNumber(spoken) : undefined);
      return scoreOf({
        right: given !== undefined && isSameAnswer(given, truth),
        hasAnswer: answer !== undefined && answer.trim() !== "",
        hasThought: thoughts.length > 0,
      });
    },
  };
}

function isSameAnswer(given: string, truth: string): boolean {
  if (plainAnswer(given) === plainAnswer(truth)) return true;
  const [given1, ...others] = numbersIn(given);
  const wanted = numbersIn(truth).at(-1);
  if (given1 === undefined || wanted === undefined || others.length > 0) return false;
  return isSameNumber(given1, wanted);
}

/** An answer as TorchRL writes it to compare: `$1,234.00` is `1234`, `3.14` stays. */
function plainAnswer(text: string): string {
  const bare = text.trim().replace(/[,$%]/g, "").replace(/\.$/, "").trim();
  return bare.replace(/^(-?\d+)\.0+$/, "$1");
}
