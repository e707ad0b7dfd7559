import type { ChatFormat } from "./chat_format.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { ChatHistory, ChatText, ChatTokens } from "./views.ts";

/**
 * Writes a conversation as text: the prompt with a generation prompt, the whole without one, and as response what
 * the whole has more than the prompt.
 *
 * @throws {RangeError} when the whole does not begin with the prompt.
 * @throws {TypeError} when there is a response without its prompt.
 */
export function historyToText(chat: ChatHistory, format: ChatFormat): ChatText {
  const { prompt, response } = chat;
  if (response !== undefined && prompt === undefined && chat.full === undefined) {
    throw new TypeError("Cannot write response as text as its prompt must be given: it is missing");
  }
  const whole = chat.full ?? (response && prompt?.extend(response));
  const full = whole && format.render(whole);
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
 * Reads token ids as text.
 *
 * @throws {RangeError} when they are padded.
 */
export function tokensToText(tokens: ChatTokens, tokenizer: Tokenizer): ChatText {
  if (tokens.padded) {
    throw new RangeError(
      "Cannot convert padded tokens to text: take the padding off, and say 'padded: false'",
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
