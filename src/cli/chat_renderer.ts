import { ChatFormat } from "../chat/chat_format.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import type { History } from "../history.ts";
import type { ToolSpec } from "../message.ts";

/**
 * Writes conversations for a server that is sent text, up to where the assistant speaks: with the template that
 * goes with the tokenizer, else as ChatML, in Qwen's form of it where there are tools to be told of.
 */
export function createChatRenderer(
  tokenizer: Tokenizer | undefined,
): (history: History, tools: readonly ToolSpec[]) => string {
  const format = (family: string) => new ChatFormat(tokenizer === undefined ? { family } : { tokenizer });
  const plain = format("chatml");
  const withTools = format("qwen");
  return (history, tools) =>
    (tools.length === 0 ? plain : withTools).render(history, { addGenerationPrompt: true, tools });
}
