import type { Message } from "../message.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { ChatFormat } from "./chat_format.ts";
import { turnText } from "./turn_text.ts";

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

/** Small chats, the fullest first: a template that refuses one may have a place for the next. */
const CHATS: readonly { start: readonly Message[]; turns: readonly Turn[] }[] = [
  { start: [SYSTEM, USER], turns: TOOL_USE },
  { start: [USER], turns: TOOL_USE },
  { start: [USER], turns: TALK },
];

/**
 * Whether a template writes each turn the same way wherever it stands, and never changes what stands before: then
 * a turn can be rendered without the chat that led to it. Tried on a small chat that has turns of every kind that
 * the template knows.
 */
export function keepsTurns(format: ChatFormat, tools: readonly ToolSpec[] = []): boolean {
  for (const { start, turns } of CHATS) {
    try {
      return keeps(format, start, { turns, tools });
    } catch {
      // it has no place for some kind of turn
    }
  }
  return false;
}

function keeps(
  format: ChatFormat,
  start: readonly Message[],
  { turns, tools }: { turns: readonly Turn[]; tools: readonly ToolSpec[] },
): boolean {
  const options = { addGenerationPrompt: true, tools };
  const chat = [...start];
  let text = format.render(chat, options);
  for (const [reply, ...messages] of turns) {
    text += turnText({ reply, messages, tools }, format);
    chat.push(reply, ...messages);
    if (format.render(chat, options) !== text) return false;
  }
  return true;
}
