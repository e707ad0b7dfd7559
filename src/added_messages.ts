import type { Message } from "./message.ts";

/**
 * What a chat has more than before.
 *
 * @param refuse Throws the caller's error when a message of before is `gone` or `another`.
 */
export function addedMessages(
  before: Iterable<Message>,
  now: Iterable<Message>,
  refuse: (index: number, is: "gone" | "another") => never,
): Message[] {
  const messages = [...now];
  const known = [...before];
  for (const [index, message] of known.entries()) {
    const same = messages[index];
    if (same === message || JSON.stringify(same) === JSON.stringify(message)) continue;
    refuse(index, same === undefined ? "gone" : "another");
  }
  return messages.slice(known.length);
}
