import { type Message, messageText, type ToolCall, UNNAMED_CALL } from "../../message.ts";
import { callOfValue, invalidCall, parseArguments } from "./call_arguments.ts";
import { isCutOff, readTextCalls, withoutCutCall } from "./text_calls.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { scanJson, stickyMatch } from "./json_scan.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
  type ToolResponse,
} from "./tool_call_parser.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const CLOSING = /\s*(?:<\/tool_call>|$)/y;
const CLOSED = /\s*<\/tool_call>/y;
const REGIONS = { open: /<tool_call>\s*[{[]/, close: CLOSE };

/**
 * Returns a parser for a message's `tool_calls`, as in OpenAI's API, or else for calls in the message's text:
 * `<tool_call>{"name": "n", "arguments": {…}}</tool_call>`, in the form of Hermes and Qwen. A message with
 * the call's `tool_call_id` answers each call.
 *
 * A call that is not JSON gives an error that the model reads. A last call without a closing tag counts if
 * the JSON is complete, unless the message was cut off.
 */
export function openaiCalls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  const native = nativeCalls(message);
  if (native !== undefined) return native;
  const closing = isCutOff(message) ? CLOSED : CLOSING;
  return readTextCalls(message, (text) => parseText(text, closing), REGIONS);
}

function parseText(text: string, closing: RegExp): ParsedMessage {
  const calls: ParsedCall[] = [];
  let rest = "";
  let at = 0;
  for (let start = text.indexOf(OPEN); start >= 0; start = text.indexOf(OPEN, at)) {
    if (calls.length >= MAX_PARSED_CALLS) break;
    const body = start + OPEN.length;
    const { call, end } = textCall(text, body, closing);
    rest += text.slice(at, start);
    at = end;
    if (call !== undefined) calls.push(call);
    else rest += text.slice(start, end);
  }
  return { text: (rest + text.slice(at)).trim(), calls };
}

function textCall(text: string, body: number, pattern: RegExp): { call?: ParsedCall; end: number } {
  try {
    const { value, end } = scanJson(text, body);
    const closing = stickyMatch(pattern, text, end);
    if (closing !== undefined) {
      const call = callOfValue(value, text.slice(body, end));
      const isClosed = closing.endsWith(CLOSE);
      return { call: isClosed ? call : { ...call, isClosed }, end: end + closing.length };
    }
  } catch (error) {
    const close = text.indexOf(CLOSE, body);
    if (close >= 0) return { call: invalidCall(error), end: close + CLOSE.length };
  }
  const close = text.indexOf(CLOSE, body);
  if (close < 0) return { end: text.length };
  const fault = "there must be one JSON object in a call and nothing behind it";
  return { call: invalidCall(fault), end: close + CLOSE.length };
}

/**
 * Returns the calls in a message's `tool_calls`, or `undefined` if there are no calls. A message that was cut off may
 * have lost the arguments of the last call, which is then left out.
 */
export function nativeCalls(message: Message): ParsedMessage | undefined {
  const { tool_calls: calls = [] } = message;
  const last = calls.at(-1);
  if (last === undefined) return undefined;
  const isLost = isCutOff(message) && typeof last.arguments === "string" && last.arguments.trim() === "";
  const read = (isLost ? calls.slice(0, -1) : calls).slice(0, MAX_PARSED_CALLS).map(nativeCall);
  const parsed = { text: messageText(message), calls: read };
  return isLost ? parsed : withoutCutCall(parsed, message);
}

function nativeCall({ id, name, arguments: args, arguments_text: text }: ToolCall): ParsedCall {
  // a tool may change the arguments, and such a change must not reach the message
  const parsed = typeof args === "string"
    ? parseArguments(args)
    : { arguments: structuredClone(args), ...(text !== undefined && { argumentsText: text }) };
  const call = name === "" || name === UNNAMED_CALL
    ? invalidCall("a call must have the name of a function")
    : { name, ...parsed };
  return { ...call, ...(id !== undefined && { callId: id }) };
}

/** Returns a message for each call, with the call's `tool_call_id`, as OpenAI's API requires. */
export function renderByCallId(answers: readonly ToolResponse[], role: string): Message[] {
  return answers.map(({ callId, name, text, parts }) => ({
    role,
    tool_call_id: callId,
    name,
    content: parts ?? text,
  }));
}
