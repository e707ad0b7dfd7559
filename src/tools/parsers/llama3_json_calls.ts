import { type Message, messageText } from "../../message.ts";
import { withoutCutCall } from "./cut_calls.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { scanJson, stickyMatch } from "./json_scan.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";
import { callsOfValue, invalidCall } from "./call_arguments.ts";

const TAG = "<|python_tag|>";
const BETWEEN = /[\s;,]*(?:<\|python_tag\|>)?\s*/y;
/** A reply that starts as a JSON object with one of these keys. */
const BARE = /^\s*(?:\[\s*)?\{\s*"(?:name|type|function|parameters|arguments)"\s*:/;

/**
 * Returns a parser for calls as Llama 3 writes them: `{"name": "n", "parameters": {…}}`, after
 * `<|python_tag|>` or as the complete reply. `;` separates several calls. The text is the part before the
 * tag.
 *
 * The tag is a special token: the server must keep those in its text (`skip_special_tokens: false`).
 */
export function llama3JsonCalls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  return nativeCalls(message) ?? withoutCutCall(parseText(messageText(message)), message);
}

function parseText(text: string): ParsedMessage {
  const tag = text.indexOf(TAG);
  if (tag >= 0) return { text: text.slice(0, tag).trim(), calls: callsFrom(text, tag + TAG.length) };
  return BARE.test(text) ? { text: "", calls: callsFrom(text, 0) } : { text, calls: [] };
}

function callsFrom(text: string, start: number): ParsedCall[] {
  const calls: ParsedCall[] = [];
  for (let at = start; at < text.length && calls.length < MAX_PARSED_CALLS;) {
    try {
      const { value, end } = scanJson(text, at);
      calls.push(...callsOfValue(value, text.slice(at, end)).slice(0, MAX_PARSED_CALLS - calls.length));
      at = end + (stickyMatch(BETWEEN, text, end)?.length ?? 0);
    } catch (error) {
      return [...calls, invalidCall(error)];
    }
  }
  return calls;
}
