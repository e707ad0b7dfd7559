import type { Message } from "../message.ts";
import { ChatFormat, type ChatFormatOptions, type RenderOptions } from "./chat_format.ts";

/** How {@linkcode renderChat} renders. */
export type RenderChatOptions = ChatFormatOptions & Omit<RenderOptions, "marks">;

/**
 * Writes a chat as text. Who writes many makes a {@linkcode ChatFormat} once.
 *
 * @throws {TypeError} when there is neither a template nor a tokenizer, or a message's role is no name.
 * @throws {RangeError} when no template has the name.
 * @throws {SyntaxError} when the template is no Jinja.
 */
export function renderChat(messages: Iterable<Message>, options: RenderChatOptions): string {
  return new ChatFormat(options).render(messages, options);
}
