import type { AgentTools } from "./agent_config.ts";

/** Actions that end the episode with an evaluation of the current work. */
const EVALUATED_EXITS = new Set(["exit_context", "exit_cost", "exit_error", "exit_format", "exit_api"]);
/** Programs whose commands get the task's training timeout. */
const TRAINING_PROGRAM = /\b(?:torchrun|python3?|accelerate|deepspeed)\b/;
/** First line of an `edit` or `insert` whose text follows on the next lines (no redirection on the line itself). */
const TAKES_TEXT = /^\s*(edit(?=\s+\d+:\d)|insert(?!\s+\d+:))\s+[\d:]+(?:\s[^<\n]*)?(?:\n|$)/;

/** What the env has to do for an action. */
export type CommandKind =
  | { readonly kind: "skip" | "forfeit" | "run" }
  /** Ends the episode with an evaluation. */
  | { readonly kind: "exit"; readonly action: string }
  /** The line that ends the inserted text is missing. */
  | { readonly kind: "open-ended"; readonly name: string; readonly end: string };

/** Classifies an action by what the env handles without the shell. */
export function classifyCommand(action: string, { endNames }: Pick<AgentTools, "endNames">): CommandKind {
  const word = action.trim();
  if (word === "skip") return { kind: "skip" };
  if (word === "exit_forfeit") return { kind: "forfeit" };
  if (EVALUATED_EXITS.has(word)) return { kind: "exit", action: word };
  const [, name = ""] = TAKES_TEXT.exec(action) ?? [];
  const end = endNames[name] ?? (name === "edit" ? "end_of_edit" : undefined);
  if (end === undefined) return { kind: "run" };
  const isOpen = !action.split("\n").some((line) => line.trim() === end);
  return isOpen ? { kind: "open-ended", name, end } : { kind: "run" };
}

/** True if a command gets the task's training timeout. */
export function isTrainingCommand(command: string): boolean {
  return TRAINING_PROGRAM.test(command);
}
