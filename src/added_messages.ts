import type { Message } from "./message.ts";

/**
 * Returns the messages that were appended to a chat.
 *
 * @param refuse Throws the caller's error when an earlier message is missing (`gone`) or differs (`another`).
 */
export function findAddedMessages(
  before: Iterable<Message>,
  now: Iterable<Message>,
  refuse: (index: number, is: "gone" | "another") => never,
): Message[] {
  const messages = [...now];
  const earlier = [...before];
  for (const [index, message] of earlier.entries()) {
    const current = messages[index];
    if (current === message || JSON.stringify(current) === JSON.stringify(message)) continue;
    refuse(index, current === undefined ? "gone" : "another");
  }
  return messages.slice(earlier.length);
}
