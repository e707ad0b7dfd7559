import type { ChatFormat } from "../../chat/chat_format.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { errorMessage, TokenError } from "../../errors.ts";
import { messageText } from "../../message.ts";
import type { Reply } from "../../policy/policy.ts";
import { normalizeText } from "./same_text.ts";
import { idsMatchMessage } from "./says_so.ts";

/** Sampled tokens of a reply. */
export interface SampledReply {
  readonly ids: readonly number[];
  /** Decoded ids, with the token that ends the turn if it was sampled. */
  readonly text: string;
  /** Log-probability of each id, if the server gives them. */
  readonly logProbs?: readonly number[];
}

/**
 * Returns the tokens of a reply: the server's ids, or, if it gives none, the encoded text with the token that ends a
 * turn, unless the reply was cut off.
 *
 * @throws {TokenError} if the decodeIds ids do not match the reply's text.
 */
export function toSampledReply(reply: Reply, format: ChatFormat, tokenizer: Tokenizer): SampledReply {
  const { message, tokens } = reply;
  if (tokens === undefined) return encodeReply(reply, format, tokenizer);
  const { ids, logProbs } = tokens;
  if (logProbs !== undefined && logProbs.length !== ids.length) {
    throw new TokenError(
      `Cannot write reply as it must have a log-probability for each of its ${ids.length} tokens: it has ${logProbs.length}`,
    );
  }
  const text = decodeIds(ids, tokenizer);
  if (!idsMatchMessage({ ids, text, reply }, format, tokenizer)) {
    throw new TokenError(
      `Cannot write reply as tokenizer '${tokenizer.name}' must decode its ids to its text: it gives ` +
        `${shown(text)} for ${shown(messageText(message))}`,
    );
  }
  return { ids, text, ...(logProbs && { logProbs }) };
}

function encodeReply({ message }: Reply, format: ChatFormat, tokenizer: Tokenizer): SampledReply {
  if (message.tool_calls !== undefined) {
    throw new TokenError(
      "Cannot write reply as it must be text or have token ids: its tool calls are in neither",
    );
  }
  const text = messageText(message) + (message.is_complete === false ? "" : format.endTokens[0] ?? "");
  const ids = tokenizer.encode(text);
  if (normalizeText(tokenizer.decode(ids)) === normalizeText(text)) return { ids, text };
  throw new TokenError(
    `Cannot write reply as tokenizer '${tokenizer.name}' must decode to what it encoded: it gives ` +
      `${shown(tokenizer.decode(ids))} for ${shown(text)}`,
  );
}

function decodeIds(ids: readonly number[], tokenizer: Tokenizer): string {
  try {
    return tokenizer.decode(ids);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new TokenError(
      `Cannot write reply as tokenizer '${tokenizer.name}' must know its ids: ${reason}`,
      { cause },
    );
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
