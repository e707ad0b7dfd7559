import type { ChatFormat } from "./chat_format.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { ChatHistory, ChatText, ChatTokens } from "./views.ts";

/**
 * Renders a conversation as text: the prompt with a generation prompt, the full chat without one, and as the
 * response the part of the full text after the prompt.
 *
 * @throws {RangeError} if the full text does not begin with the prompt.
 * @throws {TypeError} if there is a response without its prompt.
 */
export function historyToText(chat: ChatHistory, format: ChatFormat): ChatText {
  const { prompt, response } = chat;
  if (response !== undefined && prompt === undefined && chat.full === undefined) {
    throw new TypeError("Cannot render response as its prompt must be given: found none");
  }
  const fullChat = chat.full ?? (response && prompt?.extend(response));
  const full = fullChat && format.render(fullChat);
  const start = prompt && format.render(prompt, { addGenerationPrompt: true });
  if (start === undefined || full === undefined) return { ...parts({ prompt: start, full }) };
  if (full.startsWith(start)) return { prompt: start, response: full.slice(start.length), full };
  throw new RangeError(
    `Full text does not start with prompt text: the prompt is ${excerpt(start)}, the full text ${
      excerpt(full)
    }`,
  );
}

/**
 * Decodes token ids to text.
 *
 * @throws {RangeError} if they are padded.
 */
export function tokensToText(tokens: ChatTokens, tokenizer: Tokenizer): ChatText {
  if (tokens.padded) {
    throw new RangeError(
      "Cannot convert padded tokens to text: remove the padding and set 'padded: false'",
    );
  }
  const read = (ids: readonly number[] | undefined) => ids && tokenizer.decode(ids);
  return parts({ prompt: read(tokens.prompt), response: read(tokens.response), full: read(tokens.full) });
}

function parts(text: ChatText): ChatText {
  return Object.fromEntries(Object.entries(text).filter(([, part]) => part !== undefined));
}

function excerpt(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
