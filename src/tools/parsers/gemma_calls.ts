import { findGemmaCalls, type GemmaCall } from "../../chat/replies/gemma_calls.ts";
import { parseArguments } from "./call_arguments.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { readTextCalls } from "./text_calls.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
  UNNAMED,
} from "./tool_call_parser.ts";

const REGIONS = { open: /<\|tool_call>call:/, close: "<tool_call|>" };

/**
 * Returns a parser for calls of Gemma 4: `<|tool_call>call:name{key:<|"|>text<|"|>,other:1}<tool_call|>`.
 *
 * The markers are special tokens: the server must keep special tokens in the text (`skip_special_tokens: false`).
 */
export function gemmaCalls(): ToolCallParser {
  return {
    parse: (message) => nativeCalls(message) ?? readTextCalls(message, parseText, REGIONS),
    faultText: agenticFaultMessage,
    render: renderByCallId,
  };
}

function parseText(reply: string): ParsedMessage {
  const { text, calls } = findGemmaCalls(reply, MAX_PARSED_CALLS);
  return { text: text.trim(), calls: calls.map(toCall) };
}

function toCall({ name, json, fault }: GemmaCall): ParsedCall {
  if (json !== undefined) return { name, ...parseArguments(json) };
  return { name: name === "" ? UNNAMED : name, arguments: {}, ...(fault !== undefined && { fault }) };
}
