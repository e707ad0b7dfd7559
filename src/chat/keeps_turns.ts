import type { Message } from "../message.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { ChatFormat } from "./chat_format.ts";
import { renderTurn } from "./turn_text.ts";

type Turn = readonly [Message, ...Message[]];

const SYSTEM: Message = { role: "system", content: "s" };
const USER: Message = { role: "user", content: "q" };
const TOOL: Message = { role: "tool", content: "t" };
const REPLY: Message = { role: "assistant", content: "a" };
const THOUGHT: Message = { role: "assistant", content: "<think>\nc\n</think>\n\na" };

const TALK: readonly Turn[] = [[THOUGHT, USER], [REPLY, USER], [REPLY, USER]];
const TOOL_USE: readonly Turn[] = [[THOUGHT, TOOL], [REPLY, TOOL, TOOL], [REPLY, USER], [REPLY], [
  REPLY,
  TOOL,
]];

/** Small chats, the fullest first. A template that rejects one may accept the next. */
const CHATS: readonly { start: readonly Message[]; turns: readonly Turn[] }[] = [
  { start: [SYSTEM, USER], turns: TOOL_USE },
  { start: [USER], turns: TOOL_USE },
  { start: [USER], turns: TALK },
];

/**
 * True if a template writes each turn the same way at every position and never changes earlier text. A turn
 * can then be rendered without the chat before it. Tested on a small chat with every kind of turn that the
 * template supports.
 */
export function isAppendOnly(format: ChatFormat, tools: readonly ToolSpec[] = []): boolean {
  for (const { start, turns } of CHATS) {
    try {
      return isAppendOnlyFor(format, start, { turns, tools });
    } catch {
      // The template does not support some kind of turn in this chat.
    }
  }
  return false;
}

function isAppendOnlyFor(
  format: ChatFormat,
  start: readonly Message[],
  { turns, tools }: { turns: readonly Turn[]; tools: readonly ToolSpec[] },
): boolean {
  const options = { addGenerationPrompt: true, tools };
  const chat = [...start];
  let text = format.render(chat, options);
  for (const [reply, ...messages] of turns) {
    text += renderTurn({ reply, messages, tools }, format);
    chat.push(reply, ...messages);
    if (format.render(chat, options) !== text) return false;
  }
  return true;
}
