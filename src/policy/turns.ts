import type { History } from "../history.ts";

/** How often the assistant has spoken. */
export function assistantTurns(history: History): number {
  return [...history].filter(({ role }) => role === "assistant").length;
}
