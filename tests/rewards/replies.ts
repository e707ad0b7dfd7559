import { History } from "../../src/history.ts";
import type { GradeContext } from "../../src/rewards/grader.ts";

/** Returns the history of an episode that ends with a reply. */
export function replyContext(reply: string, answer?: string, fields?: Record<string, unknown>): GradeContext {
  const history = History.fromChats([
    { role: "user", content: "q" },
    { role: "assistant", content: "Let me see. <answer>not yet</answer>" },
    { role: "tool", content: "<answer>18</answer>" },
    { role: "assistant", content: reply },
  ]);
  return {
    history,
    task: { id: "t", query: "q", ...(answer !== undefined && { answer }), ...(fields && { fields }) },
  };
}
