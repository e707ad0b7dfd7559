import { requireKnownOptions } from "../options.ts";
import { ANY_EXTRACTION, extractAnswer, type Extraction, isDenied } from "./extract_answer.ts";
import { parseTaggedReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { replyGrader } from "./reply_grader.ts";
import { tieredScore, type TieredScoreOptions } from "./tiered_score.ts";
import { findNumbers, isEqualNumber } from "./plain_number.ts";

/** Options of {@linkcode gsm8k}. */
export interface Gsm8kOptions extends TieredScoreOptions {
  /**
   * Grading of a reply without `<answer>`: by the last box, the number after the last `####`, `answer is` or
   * `Answer:`, or else the last number (`any`); only by the number after `####`, `answer is` or `Answer:`
   * (`stated`); or with 0, as TorchRL does (`none`).
   * @default "any"
   */
  untagged?: "any" | "stated" | "none" | undefined;
}

const EXTRACTIONS: Readonly<Record<string, readonly Extraction[] | undefined>> = {
  any: ANY_EXTRACTION,
  stated: ["stated"],
  none: [],
};

/**
 * Returns a grader for GSM8K: 1 for the right answer, 0.1 for a wrong answer in `<answer>…</answer>`, else 0;
 * `null` if the task has no answer. The tiers and parts come from TorchRL's `GSM8KRewardParser`.
 *
 * The expected answer is the part of the task's answer after `####`, or all of it. The first answer block of
 * a reply counts, and text in `<think>…</think>` does not. `1,234`, `$1234`, `1234.00`, `1234%` and `1234.`
 * are equal. A reply without a block that ends in the right number, as `\\boxed{18}`, `Answer: 18` or `The
 * answer is 18`, also scores 1; a wrong number scores 0. A number that the reply denies or names with others, as
 * `not 18` and `18 or 19`, earns nothing for being right.
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
  requireKnownOptions("call gsm8k", options, { untagged: true, correctReward: true, formatReward: true });
  const { untagged = "any" } = options;
  const extractions = EXTRACTIONS[untagged];
  if (extractions === undefined) {
    throw new TypeError(
      `Cannot grade GSM8K as 'untagged' must be 'any', 'stated' or 'none': current value is '${untagged}'`,
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
      const answerText = answer ?? numberOf(extractAnswer(spoken, extractions));
      return scoreOf({
        right: answerText !== undefined && isSameAnswer(answerText, expected),
        hasAnswer: answer !== undefined && answer.trim() !== "",
        hasThought: thoughts.length > 0,
      });
    },
  });
}

/** Returns the result of a calculation, `16 + 2 = 18`, without the left side. */
function numberOf(answer: string | undefined): string | undefined {
  return answer?.slice(answer.lastIndexOf("=") + 1);
}

function isSameAnswer(given: string, expected: string): boolean {
  const answerText = /[{\\]/.test(given) ? given.replace(/\{,\}|,\\!/g, ",") : given;
  if (plainAnswer(answerText) === plainAnswer(expected)) return true;
  const [number, ...others] = findNumbers(answerText);
  const expectedNumber = findNumbers(expected).at(-1);
  if (number === undefined || expectedNumber === undefined || others.length > 0) return false;
  return isEqualNumber(number, expectedNumber) && !isDenied(given);
}

const PLAIN_INTEGER = /^-?\d+$/;
const THOUSANDS = /(?<=\d),(?=\d{3}(?!\d))/g;

/** Normalizes an answer as TorchRL does: `$1,234.00` becomes `1234`, `3.14` stays. */
function plainAnswer(text: string): string {
  const trimmed = text.trim();
  if (PLAIN_INTEGER.test(trimmed)) return trimmed;
  const bare = trimmed.replace(THOUSANDS, "").replace(/^([-+]?)\$|\.$/g, "$1").replace(/%$/, "").trim();
  return bare.replace(/^(-?\d+)\.0+$/, "$1");
}
