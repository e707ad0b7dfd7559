import type { Message } from "../../message.ts";

/** Turn to be written after the tokens of an episode. */
export interface Turn {
  /** Messages before the reply. */
  readonly before: readonly Message[];
  readonly reply: Message;
  /** Sampled ids, with the token that ended the reply if it was sampled. */
  readonly sampled: readonly number[];
  /** Messages after the reply: tool results and the next user message. */
  readonly messages: readonly Message[];
}

/** End of a turn. */
export interface TurnEnd {
  /** True if another reply follows: the text then ends with the header of the assistant's next turn. */
  readonly addGenerationPrompt: boolean;
}

/** Renders the text that a turn adds to an episode's tokens. Throws a `TokenError` if it cannot. */
export interface TurnWriter {
  /** Returns the text after the sampled tokens: the end of the turn, unless it was sampled, and the later messages. */
  renderRest(turn: Turn, end: TurnEnd): string;
  /** Returns the next prompt of the policy; `undefined` if it is the text written so far. */
  renderPrompt?(messages: readonly Message[]): string;
}
