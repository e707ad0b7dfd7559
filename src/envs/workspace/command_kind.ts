import type { AgentTools } from "./agent_config.ts";

/** Ends that an agent asks for by name, its work being evaluated as it is. */
const EVALUATED_EXITS = new Set(["exit_context", "exit_cost", "exit_error", "exit_format", "exit_api"]);
/** What makes a command one that may take as long as a training. */
const TRAINING = /\b(?:torchrun|python3?|accelerate|deepspeed)\b/;
/** The first line of a command that text is to follow, unless it says itself where the text comes from. */
const TAKES_TEXT = /^\s*(edit(?=\s+\d+:\d)|insert(?!\s+\d+:))\s+[\d:]+(?:\s[^<\n]*)?(?:\n|$)/;

/** What an action asks of the env. */
export type CommandKind =
  | { readonly kind: "skip" | "forfeit" | "run" }
  /** The episode ends with an evaluation. */
  | { readonly kind: "exit"; readonly action: string }
  /** A line is missing that ends what is put in. */
  | { readonly kind: "open-ended"; readonly name: string; readonly end: string };

/** Reads an action as far as the env answers it without the shell. */
export function commandKind(action: string, { endNames }: Pick<AgentTools, "endNames">): CommandKind {
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

/** Whether a command may run for as long as the task's training. */
export function mayTrain(command: string): boolean {
  return TRAINING.test(command);
}
