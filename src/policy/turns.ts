import type { History } from "../history.ts";

/** Returns the number of assistant messages. */
export function countAssistantTurns(history: History): number {
  return [...history].filter(({ role }) => role === "assistant").length;
}
