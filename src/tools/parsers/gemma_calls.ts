import { findGemmaCalls, type GemmaCall } from "../../chat/replies/gemma_calls.ts";
import { messageText } from "../../message.ts";
import { parseArguments } from "./call_arguments.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { MAX_PARSED_CALLS, type ParsedCall, type ToolCallParser, UNNAMED } from "./tool_call_parser.ts";

/**
 * Returns a parser for calls of Gemma 4: `<|tool_call>call:name{key:<|"|>text<|"|>,other:1}<tool_call|>`.
 *
 * The markers are special tokens: the server must keep those in its text (`skip_special_tokens: false`).
 */
export function gemmaCalls(): ToolCallParser {
  return {
    parse(message) {
      const native = nativeCalls(message);
      if (native !== undefined) return native;
      const { text, calls } = findGemmaCalls(messageText(message), MAX_PARSED_CALLS);
      return { text: text.trim(), calls: calls.map(toCall) };
    },
    faultText: agenticFaultMessage,
    render: renderByCallId,
  };
}

function toCall({ name, json, fault }: GemmaCall): ParsedCall {
  if (json !== undefined) return { name, ...parseArguments(json) };
  return { name: name === "" ? UNNAMED : name, arguments: {}, ...(fault !== undefined && { fault }) };
}
