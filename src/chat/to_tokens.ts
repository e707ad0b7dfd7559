import type { ChatFormat } from "./chat_format.ts";
import { historyToText } from "./to_text.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { ChatHistory, ChatText, ChatTokens } from "./views.ts";

/** How {@linkcode textToTokens} encodes. */
export interface TextToTokensOptions {
  /** Refused: sequences stay as long as they are. */
  padding?: boolean | undefined;
}

/**
 * Writes a conversation as token ids. The whole is always the prompt's ids and behind them the response's.
 *
 * @throws {TypeError} when the format has no tokenizer, or there is a response without its prompt.
 * @throws {RangeError} when the whole does not begin with the prompt.
 */
export function historyToTokens(chat: ChatHistory, format: ChatFormat): ChatTokens {
  if (format.tokenizer === undefined) {
    throw new TypeError("Cannot tokenize chat as the format must have a tokenizer: it has none");
  }
  return textToTokens(historyToText(chat, format), format.tokenizer);
}

/**
 * Encodes text. The whole is the prompt's ids and behind them the response's.
 *
 * @throws {RangeError} when padding is asked for, or the whole does not begin with the prompt.
 */
export function textToTokens(
  text: ChatText,
  tokenizer: Tokenizer,
  options: TextToTokensOptions = {},
): ChatTokens {
  if (options.padding) throw new RangeError("Padding is not yet supported: leave 'padding' out");
  const { full } = text;
  const prompt = text.prompt === undefined ? undefined : tokenizer.encode(text.prompt);
  const said = text.response ?? responseText(text);
  const response = said === undefined ? undefined : tokenizer.encode(said);
  if (prompt && response) return { prompt, response, full: [...prompt, ...response] };
  return {
    ...(prompt && { prompt }),
    ...(response && { response }),
    ...(full !== undefined && { full: tokenizer.encode(full) }),
  };
}

function responseText({ prompt, full }: ChatText): string | undefined {
  if (prompt === undefined || full === undefined) return undefined;
  if (full.startsWith(prompt)) return full.slice(prompt.length);
  throw new RangeError("Full text does not start with prompt text: it has another beginning");
}
