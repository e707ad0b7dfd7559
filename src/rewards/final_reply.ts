import type { History } from "../history.ts";
import { messageText } from "../message.ts";

/** Returns the text of the last assistant message, which most graders score; empty if there is none. */
export function finalReplyOf(history: History): string {
  const last = [...history].findLast(({ role }) => role === "assistant");
  return last === undefined ? "" : messageText(last);
}
