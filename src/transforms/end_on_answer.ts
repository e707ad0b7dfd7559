import { finalReply } from "../rewards/final_reply.ts";
import { taggedReply } from "../rewards/tagged_reply.ts";
import type { Transform } from "./transform.ts";

/**
 * Terminates an episode when the assistant gives an `<answer>…</answer>`, outside of its thoughts, even if tools
 * were called beside it. It is the `set_done_if_answer` of TorchRL's reward parsers.
 *
 * Append it before what grades.
 */
export function endOnAnswer(): Transform {
  return {
    step(step) {
      const { answers } = taggedReply(finalReply(step.history.prompt));
      return answers.length === 0 ? step : { ...step, terminated: true };
    },
  };
}
