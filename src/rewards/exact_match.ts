import { finalReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { taggedReply } from "./tagged_reply.ts";

/**
 * Scores 1 when the final reply is the task's answer, else 0; `null` when the task has no answer.
 *
 * Where the reply has an `<answer>…</answer>`, its first one is compared, else all of it but its thoughts. White
 * space around is nothing, and so is how Unicode composes a letter; all else counts, upper and lower case too.
 */
export function exactMatch(): Grader {
  return {
    name: "exact_match",
    grade({ task, history }) {
      if (task.answer === undefined) return null;
      const { answers: [answer], spoken } = taggedReply(finalReply(history));
      return composed(answer ?? spoken) === composed(task.answer) ? 1 : 0;
    },
  };
}

function composed(text: string): string {
  return text.trim().normalize("NFC");
}
