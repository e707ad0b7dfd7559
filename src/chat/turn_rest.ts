import { type Message, messageText } from "../message.ts";
import type { ChatFormat } from "./chat_format.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { type ChatTurn, QUESTION } from "./turn_text.ts";

/** A turn whose reply was sampled as ids. */
export interface RepliedTurn extends ChatTurn {
  readonly sampled: readonly number[];
}

/** How {@linkcode turnRest} goes on. */
export interface TurnRestOptions {
  /** Ends with the header of the assistant's next turn; true unless given. */
  addGenerationPrompt?: boolean | undefined;
}

/** Stands for a reply whose tokens are known. */
const REPLY = "\ue000";

/**
 * The text behind a sampled reply: the end of its turn unless it was sampled too, the other messages, and the
 * next generation prompt. What the reply says does not matter to it, so no template can rewrite it.
 *
 * @throws {Error} when the template does not put the reply behind its generation prompt.
 */
export function turnRest(turn: RepliedTurn, format: ChatFormat, options: TurnRestOptions = {}): string {
  const { tokenizer } = format;
  if (tokenizer === undefined) {
    throw new TypeError("Cannot encode turn as the format must have a tokenizer: it has none");
  }
  const { reply, sampled, messages = [], tools, before = QUESTION } = turn;
  const { addGenerationPrompt = true } = options;
  const chat = [...before, { role: "assistant", content: REPLY }, ...messages];
  const text = format.render(chat, { addGenerationPrompt, tools });
  const at = replyPlace(text, { before, tools }, format);
  const tail = text.slice(at + REPLY.length);
  if (!isEnded(sampled, format.ends, tokenizer)) {
    return unsaid(tail, tokenizer.decode(sampled), messageText(reply));
  }
  return withoutEnd(tail, format.ends);
}

/**
 * Where the reply stands in a rendered chat. Its header may be shorter than a generation prompt that opens a
 * thought and closes it, and longer where a template does so for a reply that has none. Where a template has no
 * header, as those of Mistral and Llama 2, nothing but space may stand before the reply.
 */
function replyPlace(
  text: string,
  { before, tools }: { before: Iterable<Message>; tools: ChatTurn["tools"] },
  format: ChatFormat,
): number {
  const start = format.render(before, { tools });
  const header = format.render(before, { addGenerationPrompt: true, tools }).slice(start.length);
  const at = text.indexOf(REPLY, start.length);
  const opened = text.slice(start.length, at);
  const opens = header === "" ? opened.trim() === "" : opened.startsWith(header) || header.startsWith(opened);
  const isPlaced = at !== -1 && text.startsWith(start) && opens;
  if (isPlaced) return at;
  throw new Error(
    `Cannot render turn as template '${format.template.name}' must put a reply behind its generation prompt: ` +
      "it rewrites what stands before",
  );
}

/** True when the model ended its turn itself, by any token that does. */
function isEnded(sampled: readonly number[], ends: readonly string[], tokenizer: Tokenizer): boolean {
  return ends.map((end) => tokenizer.encode(end)).some((ids) =>
    ids.length > 0 && ids.every((id, at) => id === sampled[sampled.length - ids.length + at])
  );
}

/** The tail without the end that it begins with, before which some templates put a space. */
function withoutEnd(tail: string, ends: readonly string[]): string {
  const text = tail.trimStart();
  const end = ends.find((end) => text.startsWith(end));
  return end === undefined ? tail : text.slice(end.length);
}

/** The tail without its start, should that have been sampled behind the content, as where a line break ends a turn. */
function unsaid(tail: string, said: string, content: string): string {
  const at = content === "" ? -1 : said.lastIndexOf(content);
  const beyond = at === -1 ? "" : said.slice(at + content.length);
  return tail.startsWith(beyond) ? tail.slice(beyond.length) : tail;
}
