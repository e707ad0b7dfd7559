import type { Message } from "../message.ts";
import type { ToolResponse } from "./tool_call_parser.ts";

/** Returns one message for each call, with the call's `tool_call_id`, as OpenAI's API requires. */
export function renderByCallId(answers: readonly ToolResponse[], role: string): Message[] {
  return answers.map(({ callId, name, text, parts }) => ({
    role,
    tool_call_id: callId,
    name,
    content: parts ?? text,
  }));
}
