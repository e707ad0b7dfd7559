import type { ChatFormat } from "./chat_format.ts";
import { turnRest } from "./turn_rest.ts";
import { type ChatTurn, turnText } from "./turn_text.ts";

/** A turn whose reply may have been sampled as ids. */
export interface SampledTurn extends ChatTurn {
  /** The ids that were sampled as the reply; without them its text is encoded. */
  readonly sampled?: readonly number[] | undefined;
}

/** What a turn adds to a text and to its tokens. */
export interface TurnTokens {
  readonly text: string;
  readonly ids: readonly number[];
  /** 1 on each id that was sampled, 0 on all others. */
  readonly lossMask: readonly (0 | 1)[];
}

/**
 * What to put behind the tokens of a chat that ends in a generation prompt: the sampled ids as they are, the end
 * of the turn unless it was sampled too, the other messages, and the next generation prompt.
 *
 * Only the new messages are rendered and only they are encoded; tokens are never changed. The result equals the
 * tokens of the whole text when the template writes a turn the same way wherever it stands, and the tokenizer
 * neither merges over the border of a generation prompt or of a sampled reply nor puts a space before each text.
 *
 * @throws {TypeError} when the format has no tokenizer, or the reply is not the assistant's.
 * @throws {Error} when the template does not put the reply behind its generation prompt.
 */
export function turnTokens(turn: SampledTurn, format: ChatFormat): TurnTokens {
  const { tokenizer } = format;
  const { reply, sampled } = turn;
  if (tokenizer === undefined) {
    throw new TypeError("Cannot encode turn as the format must have a tokenizer: it has none");
  }
  if (reply.role !== "assistant") {
    throw new TypeError(
      `Cannot encode turn as the assistant must answer the generation prompt: '${reply.role}' does`,
    );
  }
  if (sampled === undefined) {
    const text = turnText(turn, format);
    const ids = tokenizer.encode(text);
    return { text, ids, lossMask: ids.map(() => 0) };
  }
  const rest = turnRest({ ...turn, sampled }, format);
  const added = tokenizer.encode(rest);
  return {
    text: tokenizer.decode(sampled) + rest,
    ids: [...sampled, ...added],
    lossMask: [...sampled.map(() => 1 as const), ...added.map(() => 0 as const)],
  };
}
