import { parseTaggedReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { replyGrader } from "./reply_grader.ts";
import { tieredScore, type TieredScoreOptions } from "./tiered_score.ts";
import { findNumbers, findStatedNumber, isEqualNumber } from "./plain_number.ts";

/** Options of {@linkcode gsm8k}. */
export interface Gsm8kOptions extends TieredScoreOptions {
  /**
   * Grading of a reply without `<answer>`: by the number after its last `####` or `answer is` (`stated`),
   * or with 0 (`none`).
   * @default "stated"
   */
  untagged?: "stated" | "none" | undefined;
}

/**
 * Returns a grader for GSM8K: 1 for the right answer, 0.1 for a wrong one in `<answer>…</answer>`, else 0;
 * `null` if the task has no answer. The tiers and parts are those of TorchRL's `GSM8KRewardParser`.
 *
 * The expected answer is the part of the task's answer after `####`, or all of it. The first answer block of
 * a reply counts, and text in `<think>…</think>` does not. `1,234`, `$1234`, `1234.00`, `1234%` and `1234.`
 * are equal. A reply without a block that states the right number, as in `The answer is 18`, also scores 1;
 * a wrong one scores 0.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { gsm8k, History } from "@paddock/paddock";
 *
 * const history = History.fromChats([
 *   { role: "user", content: "What is 3 * 6?" },
 *   { role: "assistant", content: "<answer>18</answer>" },
 * ]);
 * const score = await gsm8k().grade({ task: { id: "1", query: "What is 3 * 6?", answer: "#### 18" }, history });
 * assertEquals(score, {
 *   score: 1,
 *   parts: { reward_answer: 1, reward_think: 0, reward_right: 1, success: 1 },
 * });
 * ```
 *
 * @throws {RangeError} when a reward is not a finite number.
 */
export function gsm8k(options: Gsm8kOptions = {}): Grader {
  const { untagged = "stated" } = options;
  if (untagged !== "stated" && untagged !== "none") {
    throw new TypeError(
      `Cannot grade GSM8K as 'untagged' must be 'stated' or 'none': current value is '${untagged}'`,
    );
  }
  const scoreOf = tieredScore(options);
  return replyGrader({
    name: "gsm8k",
    origin: { file: "gsm8k", factory: "gsm8k", options },
    gradeReply(reply, task) {
      const expected = (task.answer ?? "").split("####").at(-1)?.trim() ?? "";
      if (expected === "") return null;
      const { thoughts, answers: [answer], visibleText: spoken } = parseTaggedReply(reply);
      const answerText = answer ?? (untagged === "stated" ? findStatedNumber(spoken) : undefined);
      return scoreOf({
        right: answerText !== undefined && isSameAnswer(answerText, expected),
        hasAnswer: answer !== undefined && answer.trim() !== "",
        hasThought: thoughts.length > 0,
      });
    },
  });
}

function isSameAnswer(answerText: string, expected: string): boolean {
  if (plainAnswer(answerText) === plainAnswer(expected)) return true;
  const [number, ...others] = findNumbers(answerText);
  const expectedNumber = findNumbers(expected).at(-1);
  if (number === undefined || expectedNumber === undefined || others.length > 0) return false;
  return isEqualNumber(number, expectedNumber);
}

/** Normalizes an answer as TorchRL does: `$1,234.00` becomes `1234`, `3.14` stays. */
function plainAnswer(text: string): string {
  const bare = text.trim().replace(/[,$%]/g, "").replace(/\.$/, "").trim();
  return bare.replace(/^(-?\d+)\.0+$/, "$1");
}
