import { type Message, messageText } from "../message.ts";
import type { ChatFormat } from "./chat_format.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { type ChatTurn, QUESTION } from "./turn_text.ts";

/** A turn whose reply was sampled as token ids. */
export interface RepliedTurn extends ChatTurn {
  /** Ids of the sampled reply. */
  readonly sampled: readonly number[];
}

/** Options of {@linkcode renderTurnSuffix}. */
export interface TurnSuffixOptions {
  /**
   * Appends the header of the assistant's next turn.
   *
   * @default true
   */
  addGenerationPrompt?: boolean | undefined;
}

/** Placeholder for a reply whose tokens are known. */
const REPLY_PLACEHOLDER = "\ue000";

/**
 * Renders the text after a sampled reply: the end of its turn if the model did not sample it, the other
 * messages, and the next generation prompt. The reply is rendered as a placeholder, so that no template can
 * rewrite it.
 *
 * @throws {Error} if the template does not put the reply after its generation prompt.
 */
export function renderTurnSuffix(
  turn: RepliedTurn,
  format: ChatFormat,
  options: TurnSuffixOptions = {},
): string {
  const { tokenizer } = format;
  if (tokenizer === undefined) {
    throw new TypeError("Cannot encode turn as the format must have a tokenizer: found none");
  }
  const { reply, sampled, messages = [], tools, before = QUESTION } = turn;
  const { addGenerationPrompt = true } = options;
  const chat = [...before, { role: "assistant", content: REPLY_PLACEHOLDER }, ...messages];
  const text = format.render(chat, { addGenerationPrompt, tools });
  const at = findReply(text, { before, tools }, format);
  const tail = text.slice(at + REPLY_PLACEHOLDER.length);
  if (!hasEndToken(sampled, format.endTokens, tokenizer)) {
    return withoutSampledStart(tail, tokenizer.decode(sampled), messageText(reply));
  }
  return withoutEndToken(tail, format.endTokens);
}

/**
 * Returns the position of the reply in a rendered chat. The reply's header can be shorter than the generation
 * prompt, if that prompt opens and closes a reasoning block; it can be longer, if the template adds such a
 * block to replies without one. For templates without a header, such as those of Mistral and Llama 2, only
 * white space may precede the reply.
 */
function findReply(
  text: string,
  { before, tools }: { before: Iterable<Message>; tools: ChatTurn["tools"] },
  format: ChatFormat,
): number {
  const start = format.render(before, { tools });
  const header = format.render(before, { addGenerationPrompt: true, tools }).slice(start.length);
  const at = text.indexOf(REPLY_PLACEHOLDER, start.length);
  const prefix = text.slice(start.length, at);
  const hasHeader = header === ""
    ? prefix.trim() === ""
    : prefix.startsWith(header) || header.startsWith(prefix);
  if (at !== -1 && text.startsWith(start) && hasHeader) return at;
  throw new Error(
    `Cannot render turn as template '${format.template.name}' must put a reply after its generation prompt: ` +
      "it changes earlier text",
  );
}

/** True if the sampled ids end with any of the end tokens. */
function hasEndToken(sampled: readonly number[], ends: readonly string[], tokenizer: Tokenizer): boolean {
  return ends.map((end) => tokenizer.encode(end)).some((ids) =>
    ids.length > 0 && ids.every((id, at) => id === sampled[sampled.length - ids.length + at])
  );
}

/** Removes an end token from the start of the tail. Some templates put a space before it. */
function withoutEndToken(tail: string, ends: readonly string[]): string {
  const text = tail.trimStart();
  const end = ends.find((end) => text.startsWith(end));
  return end === undefined ? tail : text.slice(end.length);
}

/**
 * Removes the start of the tail that the model already sampled after the content, such as a line break that
 * ends the turn.
 */
function withoutSampledStart(tail: string, sampledText: string, content: string): string {
  const at = content === "" ? -1 : sampledText.lastIndexOf(content);
  const surplus = at === -1 ? "" : sampledText.slice(at + content.length);
  return tail.startsWith(surplus) ? tail.slice(surplus.length) : tail;
}
