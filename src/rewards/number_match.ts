import { finalReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { isSameNumber, numbersIn, statedNumber } from "./plain_number.ts";
import { taggedReply } from "./tagged_reply.ts";

/**
 * Scores 1 when the number of the final reply is that of the task's answer, else 0; `null` when the task's
 * answer holds no number.
 *
 * A reply's number is the first one behind its last `####` or `answer is`, else its last one; what stands in
 * `<think>…</think>` does not count. `1,000`, `$1000`, `1000.00` and `1000%` are one number, and so is what floating
 * point makes of it.
 */
export function numberMatch(): Grader {
  return {
    name: "number_match",
    grade({ task, history }) {
      const wanted = numbersIn(task.answer ?? "").at(-1);
      if (wanted === undefined) return null;
      const { spoken } = taggedReply(finalReply(history));
      const given = statedNumber(spoken) ?? numbersIn(spoken).at(-1);
      return given !== undefined && isSameNumber(given, wanted) ? 1 : 0;
    },
  };
}
