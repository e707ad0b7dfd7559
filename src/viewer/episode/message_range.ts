import type { Message } from "../../message.ts";

/** Messages of a page. */
const PAGE_MESSAGES = 300;
/** Parts, calls and other texts of a message that are shown. */
export const MAX_MESSAGE_TEXTS = 100;

/** Which messages of an episode a page shows, and how much of their texts. */
export interface MessageRange {
  /** Index of the first message. */
  readonly from: number;
  /** Index after the last message. */
  readonly to: number;
}

/** Limits of a page of messages. */
export interface MessageLimits {
  /** Characters of a text that are shown. */
  readonly text: number;
  /** Characters of all texts after which a page ends. A page shows at least one message. */
  readonly page: number;
}

/** Returns the messages of the page that begins with a message: at most 300, and not more text than a browser shows. */
export function messageRange(
  messages: readonly Message[],
  options: { from: number; limits: MessageLimits },
): MessageRange {
  const from = Math.max(0, Math.min(options.from, messages.length - 1));
  let characters = 0;
  let to = from;
  while (to < messages.length && to - from < PAGE_MESSAGES) {
    const message = messages[to];
    if (message) characters += charactersOf(message, options.limits);
    if (characters > options.limits.page && to > from) break;
    to++;
  }
  return { from, to };
}

/** Returns the start of the previous page. */
export function previousFrom({ from }: MessageRange): number {
  return Math.max(0, from - PAGE_MESSAGES);
}

/** Returns the characters of each text of a message that are shown: less if the message has many texts. */
export function textLimit(message: Message, limits: MessageLimits): number {
  const texts = textLengths(message).length;
  return Math.min(limits.text, Math.ceil(limits.page / Math.max(1, texts)));
}

function charactersOf(message: Message, limits: MessageLimits): number {
  const limit = textLimit(message, limits);
  return textLengths(message).reduce((sum, length) => sum + Math.min(length, limit), 0);
}

/** Returns the lengths of the texts of a message. */
function textLengths(
  { content, reasoning_content, tool_calls = [], tool_responses = [] }: Message,
): number[] {
  const parts = typeof content === "string"
    ? [content.length]
    : (content ?? []).slice(0, MAX_MESSAGE_TEXTS).map(({ text = "" }) => text.length);
  const calls = tool_calls.slice(0, MAX_MESSAGE_TEXTS);
  return [
    reasoning_content?.length ?? 0,
    ...parts,
    ...tool_responses.slice(0, MAX_MESSAGE_TEXTS).map(({ length }) => length),
    ...calls.map(({ arguments: args }) => (typeof args === "string" ? args : JSON.stringify(args)).length),
  ];
}
