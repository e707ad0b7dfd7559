import type { ChatFormat } from "./chat_format.ts";
import { historyToText } from "./to_text.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { ChatHistory, ChatText, ChatTokens } from "./views.ts";

/** Options of {@linkcode textToTokens}. */
export interface TextToTokensOptions {
  /** Not supported: `true` throws a `RangeError`. */
  padding?: boolean | undefined;
}

/**
 * Converts a conversation to token ids. The full ids are always the prompt's ids followed by the response's.
 *
 * @throws {TypeError} if the format has no tokenizer, or there is a response without its prompt.
 * @throws {RangeError} if the full text does not begin with the prompt.
 */
export function historyToTokens(chat: ChatHistory, format: ChatFormat): ChatTokens {
  if (format.tokenizer === undefined) {
    throw new TypeError("Cannot tokenize chat as the format must have a tokenizer: found none");
  }
  return textToTokens(historyToText(chat, format), format.tokenizer);
}

/**
 * Encodes text. The full ids are the prompt's ids followed by the response's.
 *
 * @throws {RangeError} if `padding` is true, or the full text does not begin with the prompt.
 */
export function textToTokens(
  text: ChatText,
  tokenizer: Tokenizer,
  options: TextToTokensOptions = {},
): ChatTokens {
  if (options.padding) throw new RangeError("Padding is not yet supported: leave 'padding' out");
  const { full } = text;
  const prompt = text.prompt === undefined ? undefined : tokenizer.encode(text.prompt);
  const responseText = text.response ?? responseTextOf(text);
  const response = responseText === undefined ? undefined : tokenizer.encode(responseText);
  if (prompt && response) return { prompt, response, full: [...prompt, ...response] };
  return {
    ...(prompt && { prompt }),
    ...(response && { response }),
    ...(full !== undefined && { full: tokenizer.encode(full) }),
  };
}

function responseTextOf({ prompt, full }: ChatText): string | undefined {
  if (prompt === undefined || full === undefined) return undefined;
  if (full.startsWith(prompt)) return full.slice(prompt.length);
  throw new RangeError("Full text does not start with prompt text: found another beginning");
}
