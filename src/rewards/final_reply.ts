import type { History } from "../history.ts";
import { messageText } from "../message.ts";

/** The assistant's last word, which graders of an answer look at; empty when it never spoke. */
export function finalReply(history: History): string {
  const last = [...history].findLast(({ role }) => role === "assistant");
  return last === undefined ? "" : messageText(last);
}
