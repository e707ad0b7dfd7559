import type { Message } from "../message.ts";
import type { ToolAnswer } from "./tool_call_parser.ts";

/** Answers each call by a message of its own with its `tool_call_id`, as OpenAI's API wants it. */
export function answerByCallId(answers: readonly ToolAnswer[], role: string): Message[] {
  return answers.map(({ callId, name, text, parts }) => ({
    role,
    tool_call_id: callId,
    name,
    content: parts ?? text,
  }));
}
