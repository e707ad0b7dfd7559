import type { History } from "../history.ts";
import type { Message } from "../message.ts";

/**
 * The newest message of the assistant among those that a step added: `said` is the conversation as the policy
 * left it, `before` how long it was when the policy was asked. Answers of other tools do not hide it, and an
 * assistant that spoke before is not heard twice.
 */
export function newReply(said: History, before: number): Message | undefined {
  // A policy may hand in a conversation that it has shortened; its last message is then the new one.
  const start = Math.min(before, said.length - 1);
  return [...said].findLast(({ role }, at) => at >= start && role === "assistant");
}
