import type { Message } from "../../message.ts";
import { readTextCalls } from "./text_calls.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { parseJson } from "./json_scan.ts";
import { callsOfValue, invalidCall } from "./call_arguments.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";

const OPEN = "<tool_call>\n";
const CLOSE = "\n</tool_call>";
const REGIONS = { open: /<tool_call>\n\s*[{[]/, close: CLOSE };

/**
 * Returns a parser for calls in the form of SGLang's detector `qwen25`: `<tool_call>`, a line end, a JSON
 * object or a list of objects, a line end, `</tool_call>`. The text is the part before the first call.
 *
 * A call without a closing tag is ignored. A call that is not JSON gives an error in the result and does not
 * throw.
 */
export function qwen25Calls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  return nativeCalls(message) ?? readTextCalls(message, parseText, REGIONS);
}

function parseText(text: string): ParsedMessage {
  const calls: ParsedCall[] = [];
  const first = text.indexOf(OPEN);
  for (let start = first; start >= 0 && calls.length < MAX_PARSED_CALLS;) {
    const end = text.indexOf(CLOSE, start + OPEN.length);
    if (end < 0) break;
    const block = blockCalls(text.slice(start + OPEN.length, end));
    calls.push(...block.slice(0, MAX_PARSED_CALLS - calls.length));
    start = text.indexOf(OPEN, end + CLOSE.length);
  }
  return { text: first < 0 ? text : text.slice(0, first).trim(), calls };
}

function blockCalls(json: string): ParsedCall[] {
  try {
    return callsOfValue(parseJson(json.trim()), json);
  } catch (error) {
    return [invalidCall(error)];
  }
}
