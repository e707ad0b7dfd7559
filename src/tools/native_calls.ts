import { type Message, messageText, type ToolCall } from "../message.ts";
import { readArguments } from "./read_arguments.ts";
import type { ParsedCall, ParsedMessage } from "./tool_call_parser.ts";

/** The calls that a message carries beside its text, as OpenAI's API gives them; nothing where it has none. */
export function nativeCalls(message: Message): ParsedMessage | undefined {
  const { tool_calls: calls = [] } = message;
  return calls.length > 0 ? { text: messageText(message), calls: calls.map(nativeCall) } : undefined;
}

function nativeCall({ id, name, arguments: args }: ToolCall): ParsedCall {
  // a tool may change what it is given, and the message must not change with it
  const read = typeof args === "string" ? readArguments(args) : { arguments: structuredClone(args) };
  return { name, ...read, ...(id !== undefined && { callId: id }) };
}
