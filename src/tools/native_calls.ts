import { type Message, messageText, type ToolCall } from "../message.ts";
import { parseArguments } from "./read_arguments.ts";
import type { ParsedCall, ParsedMessage } from "./tool_call_parser.ts";

/** Returns the calls in a message's `tool_calls`, or `undefined` if it has none. */
export function nativeCalls(message: Message): ParsedMessage | undefined {
  const { tool_calls: calls = [] } = message;
  return calls.length > 0 ? { text: messageText(message), calls: calls.map(nativeCall) } : undefined;
}

function nativeCall({ id, name, arguments: args }: ToolCall): ParsedCall {
  // a tool may change its arguments, and that must not change the message
  const parsed = typeof args === "string" ? parseArguments(args) : { arguments: structuredClone(args) };
  return { name, ...parsed, ...(id !== undefined && { callId: id }) };
}
