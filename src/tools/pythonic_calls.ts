import { type Message, messageText } from "../message.ts";
import { renderByCallId } from "./answer_by_call_id.ts";
import { agenticFaultMessage } from "./fault_words.ts";
import { nativeCalls } from "./native_calls.ts";
import { scanPythonCalls } from "./python_scan.ts";
import type { ParsedMessage, ToolCallParser } from "./tool_call_parser.ts";
import { invalidCall } from "./value_calls.ts";

const TAGS = /<\|python_(?:start|end)\|>/g;
const LIST = /\[\s*[A-Za-z_][\w.-]{0,255}\s*\(/;

/**
 * Returns a parser for calls as a Python list: `[search(query="a", limit=3), done()]`, as Llama 4 and other
 * models write them, with or without `<|python_start|>` and `<|python_end|>`. Arguments are named literals.
 * The text is the part before and after the list.
 */
export function pythonicCalls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  return nativeCalls(message) ?? parseText(messageText(message));
}

function parseText(reply: string): ParsedMessage {
  const text = reply.replaceAll(TAGS, "");
  const start = LIST.exec(text)?.index;
  if (start === undefined) return { text: reply, calls: [] };
  try {
    const { calls, end } = scanPythonCalls(text, start);
    return { text: `${text.slice(0, start)}${text.slice(end)}`.trim(), calls };
  } catch (error) {
    return { text: text.slice(0, start).trim(), calls: [invalidCall(error)] };
  }
}
