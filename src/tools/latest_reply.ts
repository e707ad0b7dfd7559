import type { History } from "../history.ts";
import type { Message } from "../message.ts";

/**
 * Returns the last assistant message that a step added. `history` is the conversation that the policy
 * returned, `before` the number of messages before the step. Tool messages after the reply are skipped, and
 * replies of earlier steps are ignored.
 */
export function latestReply(history: History, before: number): Message | undefined {
  // A policy may return a shortened conversation; its last message is then the new one.
  const start = Math.min(before, history.length - 1);
  return [...history].findLast(({ role }, at) => at >= start && role === "assistant");
}
