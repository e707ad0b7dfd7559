import type { Message } from "../../message.ts";
import { invalidCall, parseArguments } from "./call_arguments.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { readTextCalls } from "./text_calls.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { PythonLiteralError, PythonReader } from "./python/python_literals.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";

const START = "<|python_start|>";
const END = "<|python_end|>";
const TAGS = /<\|python_(?:start|end)\|>/g;
const LIST = /^\s*\[\s*[\p{L}_][\p{L}\p{N}_.-]{0,255}\s*\(/u;
const REGIONS = { open: /<\|python_start\|>/, close: END, bare: LIST };

/**
 * Returns a parser for calls as a Python list: `[search(query="a", limit=3), done()]`, in the form of Llama 4 and
 * other models. Arguments are named literals.
 *
 * The list is the complete reply, or stands between `<|python_start|>` and `<|python_end|>`; the text is then the
 * rest. A list in other text is text, and so is a reply that is not only a list of such calls. Between the tags, such a
 * list gives an error that the model reads.
 */
export function pythonicCalls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  return nativeCalls(message) ?? readTextCalls(message, parseText, REGIONS);
}

function parseText(reply: string): ParsedMessage {
  const first = reply.indexOf(START);
  return first < 0 ? parseUntagged(reply) : parseTagged(reply, first);
}

function parseUntagged(reply: string): ParsedMessage {
  const text = reply.replaceAll(TAGS, "");
  if (!LIST.test(text)) return { text: reply, calls: [] };
  try {
    return { text: "", calls: readCalls(text) };
  } catch (error) {
    if (error instanceof PythonLiteralError) return { text: reply, calls: [] };
    throw error;
  }
}

function parseTagged(reply: string, first: number): ParsedMessage {
  const calls: ParsedCall[] = [];
  let rest = reply.slice(0, first);
  let at = first;
  while (at >= 0 && calls.length < MAX_PARSED_CALLS) {
    const body = at + START.length;
    const close = reply.indexOf(END, body);
    const isClosed = close >= 0;
    const end = isClosed ? close : reply.length;
    calls.push(
      ...taggedCalls(reply.slice(body, end), { isClosed }).slice(0, MAX_PARSED_CALLS - calls.length),
    );
    const after = isClosed ? end + END.length : end;
    at = reply.indexOf(START, after);
    rest += reply.slice(after, at < 0 ? undefined : at);
  }
  return { text: rest.trim(), calls };
}

function taggedCalls(list: string, { isClosed }: { isClosed: boolean }): ParsedCall[] {
  if (list.trim() === "") return [];
  try {
    return readCalls(list).map((call) => isClosed ? call : { ...call, isClosed });
  } catch (error) {
    const endsEarly = error instanceof PythonLiteralError && error.endsEarly;
    return [{ ...invalidCall(error), ...(endsEarly && !isClosed && { isClosed }) }];
  }
}

/**
 * Reads a text that is a list of Python calls with named literal arguments.
 *
 * @throws {PythonLiteralError} for any other text.
 */
function readCalls(text: string): ParsedCall[] {
  const reader = new PythonReader(text, 0);
  reader.expect("[");
  const { items } = reader.items("]", () => readCall(reader));
  reader.end();
  return items.slice(0, MAX_PARSED_CALLS);
}

function readCall(reader: PythonReader): ParsedCall {
  const name = reader.name();
  reader.expect("(");
  const { items } = reader.items(")", (): [string, unknown] => {
    const key = reader.name();
    reader.expect("=");
    return [key, reader.value()];
  });
  return { name, ...parseArguments(JSON.stringify(Object.fromEntries(items))) };
}
