import type { Message } from "../../message.ts";
import { readTextCalls } from "./text_calls.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { scanJson } from "./json_scan.ts";
import { callsOfValue, invalidLastCall, parseArguments } from "./call_arguments.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";

const TAG = "[TOOL_CALLS]";
const REGIONS = { open: /\[TOOL_CALLS\]/ };
/** A tool name before the arguments, in the form of newer models, with an optional id. */
const NAMED = /^\s*([^\s[{]{1,256})\s*(?:\[CALL_ID\]([^\s[{]{1,256})\s*)?(?:\[ARGS\])?\s*(?=\{|$)/;

/**
 * Returns a parser for calls in the form of Mistral's models: `[TOOL_CALLS] [{"name": "n", "arguments": {…}},
 * …]`, or `[TOOL_CALLS]n[ARGS]{…}` with a tag for each call. The text is the part before the first tag.
 *
 * The tag is a special token: the server must keep special tokens in the text (`skip_special_tokens: false`).
 */
export function mistralCalls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  return nativeCalls(message) ?? readTextCalls(message, parseText, REGIONS);
}

function parseText(text: string): ParsedMessage {
  const calls: ParsedCall[] = [];
  const first = text.indexOf(TAG);
  for (let start = first; start >= 0 && calls.length < MAX_PARSED_CALLS;) {
    const { parsed, end } = callsAt(text, start + TAG.length);
    calls.push(...parsed.slice(0, MAX_PARSED_CALLS - calls.length));
    start = text.indexOf(TAG, end);
  }
  return { text: first < 0 ? text : text.slice(0, first).trim(), calls };
}

/**
 * Reads the calls after a tag. A tag inside a JSON string is not a tag, so the search continues after the
 * value.
 */
function callsAt(text: string, start: number): { parsed: ParsedCall[]; end: number } {
  const [head = "", name, callId] = NAMED.exec(text.slice(start, start + 600)) ?? [];
  const body = start + head.length;
  try {
    const { value, end } = scanJson(text, body);
    const json = text.slice(body, end);
    if (name === undefined) return { parsed: callsOfValue(value, json), end };
    return { parsed: [{ name, ...parseArguments(json), ...(callId && { callId }) }], end };
  } catch (error) {
    const call = invalidLastCall(error);
    return { parsed: [name === undefined ? call : { ...call, name }], end: body };
  }
}
