import type { Message } from "../message.ts";

const TURN = /<\|header_start\|>(\w+)<\|header_end\|>\n\n(.*?)(<\|eot\|>|$)/gs;

/**
 * Parses `<|header_start|>role<|header_end|>` … `<|eot|>` blocks. Turns without text are omitted.
 *
 * @throws {SyntaxError} if there is no turn with text.
 */
export function parseLlama(text: string): Message[] {
  const messages: Message[] = [];
  for (const [, role = "", body = "", end] of text.matchAll(TURN)) {
    const content = body.trim();
    if (content === "") continue;
    messages.push(end === "" ? { role, content, is_complete: false } : { role, content });
  }
  if (messages.length > 0) return messages;
  throw new SyntaxError(`Couldn't parse Llama format from text: ${text}`);
}
