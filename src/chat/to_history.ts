import { History } from "../history.ts";
import type { ChatFormat } from "./chat_format.ts";
import { readChat } from "./read_chat.ts";
import { tokensToText } from "./to_text.ts";
import type { ChatHistory, ChatText, ChatTokens } from "./views.ts";

/**
 * Reads text as messages. The response is what the whole has more than the prompt; where that is nothing, the
 * assistant saying nothing.
 *
 * @throws {SyntaxError} when no message is found in a part.
 * @throws {TypeError} when nobody knows how to read text of the template.
 */
export function textToHistory(text: ChatText, format: ChatFormat): ChatHistory {
  const read = (part: string) => readChat(part, format.template, format.tokenizer ?? {});
  const whole = text.full ??
    (text.response === undefined ? undefined : `${text.prompt ?? ""}${text.response}`);
  const prompt = text.prompt === undefined ? undefined : withoutGenerationPrompt(read(text.prompt));
  const full = whole === undefined ? undefined : read(whole);
  if (prompt === undefined || full === undefined) return { ...(prompt && { prompt }), ...(full && { full }) };
  const response = full.slice(prompt.length);
  return { prompt, response: response.length > 0 ? response : SILENCE, full };
}

/**
 * Reads token ids as messages.
 *
 * @throws {RangeError} when they are padded.
 * @throws {TypeError} when the format has no tokenizer, or nobody knows how to read text of its template.
 * @throws {SyntaxError} when no message is found in a part.
 */
export function tokensToHistory(tokens: ChatTokens, format: ChatFormat): ChatHistory {
  if (format.tokenizer === undefined) {
    throw new TypeError("Cannot read tokens as the format must have a tokenizer: it has none");
  }
  return textToHistory(tokensToText(tokens, format.tokenizer), format);
}

const SILENCE = History.fromChats([{ role: "assistant", content: "" }]);

/** The header of a turn that nobody has taken yet reads as one that says nothing. */
function withoutGenerationPrompt(prompt: History): History {
  const { last } = prompt;
  const unsaid = last?.role === "assistant" && last.content === "" && last.is_complete === false;
  return unsaid ? prompt.slice(0, -1) : prompt;
}
