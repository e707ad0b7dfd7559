import type { ChatFormat } from "./chat_format.ts";
import { renderTurnSuffix } from "./turn_rest.ts";
import { type ChatTurn, renderTurn } from "./turn_text.ts";

/** A turn whose reply may have been sampled as token ids. */
export interface SampledTurn extends ChatTurn {
  /** Ids of the sampled reply; without them, the reply's text is encoded. */
  readonly sampled?: readonly number[] | undefined;
}

/** The text and the tokens that a turn adds to a chat. */
export interface TurnTokens {
  readonly text: string;
  readonly ids: readonly number[];
  /** 1 for each sampled id, 0 for all others. */
  readonly lossMask: readonly (0 | 1)[];
}

/**
 * Returns the tokens to append to a chat that ends in a generation prompt: the sampled ids unchanged, the end
 * of the turn if it was not sampled, the other messages, and the next generation prompt.
 *
 * Only the new messages are rendered and encoded; existing tokens are never changed. The result equals the
 * tokens of the full text under three conditions: the template renders a turn the same way at every position;
 * the tokenizer does not merge across the border of a generation prompt or of a sampled reply; it does not
 * put a space before each text.
 *
 * @throws {TypeError} if the format has no tokenizer, or the reply's role is not `assistant`.
 * @throws {Error} if the template does not put the reply after its generation prompt.
 */
export function turnTokens(turn: SampledTurn, format: ChatFormat): TurnTokens {
  const { tokenizer } = format;
  const { reply, sampled } = turn;
  if (tokenizer === undefined) {
    throw new TypeError("Cannot encode turn as the format must have a tokenizer: found none");
  }
  if (reply.role !== "assistant") {
    throw new TypeError(
      `Cannot encode turn as the reply's role must be 'assistant': current value is '${reply.role}'`,
    );
  }
  if (sampled === undefined) {
    const text = renderTurn(turn, format);
    const ids = tokenizer.encode(text);
    return { text, ids, lossMask: ids.map(() => 0) };
  }
  const rest = renderTurnSuffix({ ...turn, sampled }, format);
  const added = tokenizer.encode(rest);
  return {
    text: tokenizer.decode(sampled) + rest,
    ids: [...sampled, ...added],
    lossMask: [...sampled.map(() => 1 as const), ...added.map(() => 0 as const)],
  };
}
