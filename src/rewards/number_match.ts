import { finalReplyOf } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { findNumbers, findStatedNumber, isEqualNumber } from "./plain_number.ts";
import { parseTaggedReply } from "./tagged_reply.ts";

/**
 * Returns a grader that scores 1 if the number in the final reply equals the one in the task's answer, else
 * 0; `null` if the task's answer has no number.
 *
 * The number of a reply is the first one after its last `####` or `answer is`, else its last one. Text in
 * `<think>…</think>` is ignored. `1,000`, `$1000`, `1000.00` and `1000%` are equal; rounding errors are
 * tolerated.
 */
export function numberMatch(): Grader {
  return {
    name: "number_match",
    grade({ task, history }) {
      const expected = findNumbers(task.answer ?? "").at(-1);
      if (expected === undefined) return null;
      const { visibleText: spoken } = parseTaggedReply(finalReplyOf(history));
      const actual = findStatedNumber(spoken) ?? findNumbers(spoken).at(-1);
      return actual !== undefined && isEqualNumber(actual, expected) ? 1 : 0;
    },
  };
}
