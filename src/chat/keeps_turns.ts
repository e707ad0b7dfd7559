import type { Message } from "../message.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { ChatFormat } from "./chat_format.ts";
import { turnText } from "./turn_text.ts";

const START: readonly Message[] = [{ role: "system", content: "s" }, { role: "user", content: "q" }];
const TOOL: Message = { role: "tool", content: "t" };
const TURNS: readonly (readonly [Message, ...Message[]])[] = [
  [{ role: "assistant", content: "<think>\nc\n</think>\n\na" }, TOOL],
  [{ role: "assistant", content: "a" }, TOOL, TOOL],
  [{ role: "assistant", content: "a" }, { role: "user", content: "q" }],
  [{ role: "assistant", content: "a" }],
  [{ role: "assistant", content: "a" }, TOOL],
];

/**
 * Whether a template writes each turn the same way wherever it stands, and never changes what stands before: then
 * a turn can be rendered without the chat that led to it. Tried on a small chat that has turns of every kind.
 */
export function keepsTurns(format: ChatFormat, tools: readonly ToolSpec[] = []): boolean {
  const options = { addGenerationPrompt: true, tools };
  try {
    const chat = [...START];
    let text = format.render(chat, options);
    for (const [reply, ...messages] of TURNS) {
      text += turnText({ reply, messages, tools }, format);
      chat.push(reply, ...messages);
      if (format.render(chat, options) !== text) return false;
    }
    return true;
  } catch {
    return false; // a template that has no place for some kind of turn is looked at anew in each chat
  }
}
