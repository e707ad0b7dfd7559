import { History } from "../history.ts";
import type { ChatFormat } from "./chat_format.ts";
import { parseRenderedChat } from "./read_chat.ts";
import { tokensToText } from "./to_text.ts";
import type { ChatHistory, ChatText, ChatTokens } from "./views.ts";

/**
 * Parses text into messages. The response is the part of the full chat after the prompt; if that part is
 * empty, it is one empty assistant message.
 *
 * @throws {SyntaxError} if a part contains no message.
 * @throws {TypeError} if the template has no inverse parser.
 */
export function textToHistory(text: ChatText, format: ChatFormat): ChatHistory {
  const read = (part: string) => parseRenderedChat(part, format.template, format.tokenizer ?? {});
  const fullText = text.full ??
    (text.response === undefined ? undefined : `${text.prompt ?? ""}${text.response}`);
  const prompt = text.prompt === undefined ? undefined : withoutGenerationPrompt(read(text.prompt));
  const full = fullText === undefined ? undefined : read(fullText);
  if (prompt === undefined || full === undefined) return { ...(prompt && { prompt }), ...(full && { full }) };
  const response = full.slice(prompt.length);
  return { prompt, response: response.length > 0 ? response : EMPTY_RESPONSE, full };
}

/**
 * Parses token ids into messages.
 *
 * @throws {RangeError} if they are padded.
 * @throws {TypeError} if the format has no tokenizer, or its template has no inverse parser.
 * @throws {SyntaxError} if a part contains no message.
 */
export function tokensToHistory(tokens: ChatTokens, format: ChatFormat): ChatHistory {
  if (format.tokenizer === undefined) {
    throw new TypeError("Cannot decode tokens as the format must have a tokenizer: found none");
  }
  return textToHistory(tokensToText(tokens, format.tokenizer), format);
}

const EMPTY_RESPONSE = History.fromChats([{ role: "assistant", content: "" }]);

/** Removes a generation prompt, which is parsed as an incomplete, empty assistant message. */
function withoutGenerationPrompt(prompt: History): History {
  const { last } = prompt;
  const isHeader = last?.role === "assistant" && last.content === "" && last.is_complete === false;
  return isHeader ? prompt.slice(0, -1) : prompt;
}
