import type { Message } from "../message.ts";
import { ChatFormat, type ChatFormatOptions, type RenderOptions } from "./chat_format.ts";

/** Options of {@linkcode renderChat}. */
export type RenderChatOptions = ChatFormatOptions & Omit<RenderOptions, "marks">;

/**
 * Renders a chat as text. To render many chats, create one {@linkcode ChatFormat}.
 *
 * @example
 * ```ts
 * import { renderChat } from "@paddock/paddock";
 *
 * const text = renderChat([{ role: "user", content: "Hello" }], { family: "chatml" });
 * if (text !== "<|im_start|>user\nHello<|im_end|>\n") throw new Error(text);
 * ```
 *
 * @throws {TypeError} if neither a template nor a tokenizer is given, or a message's role is invalid.
 * @throws {RangeError} if there is no template of that name.
 * @throws {SyntaxError} if the template is not valid Jinja.
 */
export function renderChat(messages: Iterable<Message>, options: RenderChatOptions): string {
  return new ChatFormat(options).render(messages, options);
}
