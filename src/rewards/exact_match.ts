import { finalReplyOf } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { parseTaggedReply } from "./tagged_reply.ts";

/**
 * Returns a grader that scores 1 if the final reply equals the task's answer, else 0; `null` if the task has
 * no answer.
 *
 * If the reply has an `<answer>…</answer>`, the first one is compared, otherwise the reply without its
 * thoughts. Surrounding white space and Unicode composition are ignored; case is not.
 */
export function exactMatch(): Grader {
  return {
    name: "exact_match",
    grade({ task, history }) {
      if (task.answer === undefined) return null;
      const { answers: [answer], visibleText: spoken } = parseTaggedReply(finalReplyOf(history));
      return normalize(answer ?? spoken) === normalize(task.answer) ? 1 : 0;
    },
  };
}

function normalize(text: string): string {
  return text.trim().normalize("NFC");
}
