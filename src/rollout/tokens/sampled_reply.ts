import type { ChatFormat } from "../../chat/chat_format.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { errorMessage, TokenError } from "../../errors.ts";
import { messageText } from "../../message.ts";
import type { Reply } from "../../policy/policy.ts";
import { comparable } from "./same_text.ts";
import { saysSo } from "./says_so.ts";

/** What a policy sampled in a turn. */
export interface SampledReply {
  readonly ids: readonly number[];
  /** What the ids decode to, the token that ends the turn included where it was sampled. */
  readonly text: string;
  /** One for each id, where the server gives them. */
  readonly logProbs?: readonly number[];
}

/**
 * What was sampled for a reply: the server's own ids, or, where it gives none, those of the text, and of the token
 * that ends a turn unless the reply was cut off.
 *
 * @throws {TokenError} when the tokenizer does not decode the ids to what the server says was said.
 */
export function sampledReply(reply: Reply, format: ChatFormat, tokenizer: Tokenizer): SampledReply {
  const { message, tokens } = reply;
  if (tokens === undefined) return encodedReply(reply, format, tokenizer);
  const { ids, logProbs } = tokens;
  if (logProbs !== undefined && logProbs.length !== ids.length) {
    throw new TokenError(
      `Cannot take reply as it must have a log-probability for each of its ${ids.length} tokens: it has ${logProbs.length}`,
    );
  }
  const text = decoded(ids, tokenizer);
  if (!saysSo({ ids, text, reply }, format, tokenizer)) {
    throw new TokenError(
      `Cannot take reply as tokenizer '${tokenizer.name}' must decode its ids to its text: it gives ` +
        `${shown(text)} for ${shown(messageText(message))}`,
    );
  }
  return { ids, text, ...(logProbs && { logProbs }) };
}

function encodedReply({ message }: Reply, format: ChatFormat, tokenizer: Tokenizer): SampledReply {
  if (message.tool_calls !== undefined) {
    throw new TokenError(
      "Cannot take reply as it must be text or have token ids: it has calls that are in neither",
    );
  }
  const text = messageText(message) + (message.is_complete === false ? "" : format.ends[0] ?? "");
  const ids = tokenizer.encode(text);
  if (comparable(tokenizer.decode(ids)) === comparable(text)) return { ids, text };
  throw new TokenError(
    `Cannot take reply as tokenizer '${tokenizer.name}' must decode to what it encoded: it gives ` +
      `${shown(tokenizer.decode(ids))} for ${shown(text)}`,
  );
}

function decoded(ids: readonly number[], tokenizer: Tokenizer): string {
  try {
    return tokenizer.decode(ids);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new TokenError(
      `Cannot take reply as tokenizer '${tokenizer.name}' must know its ids: ${reason}`,
      { cause },
    );
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
