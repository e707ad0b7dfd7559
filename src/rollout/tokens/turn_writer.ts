import type { Message } from "../../message.ts";

/** A turn that is to be written behind the tokens of an episode. */
export interface Turn {
  /** The messages that the reply answers. */
  readonly before: readonly Message[];
  readonly reply: Message;
  /** What was sampled, the token that ended it included where it was sampled too. */
  readonly sampled: readonly number[];
  /** What was said behind the reply: answers of tools, the user's next words. */
  readonly messages: readonly Message[];
}

/** How a turn goes on. */
export interface TurnEnd {
  /** True when the assistant is asked again: the text then ends with the header of its next turn. */
  readonly addGenerationPrompt: boolean;
}

/** One way to know what a turn adds to an episode's tokens. It throws a `TokenError` when it cannot be known. */
export interface TurnWriter {
  /** The text behind what was sampled: the end of the turn unless it was sampled too, and the other messages. */
  write(turn: Turn, end: TurnEnd): string;
  /** The prompt that the policy is to answer next; nothing when it is what was written so far. */
  prompt?(messages: readonly Message[]): string;
}
