import { type Message, messageText, type ToolCall } from "../message.ts";
import { agenticFaultText } from "./fault_words.ts";
import { scanJson } from "./json_scan.ts";
import { matchAt } from "./match_at.ts";
import { objectArguments, readArguments } from "./read_arguments.ts";
import {
  type ParsedCall,
  type ParsedMessage,
  type ToolAnswer,
  type ToolCallParser,
  UNNAMED,
} from "./tool_call_parser.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const CLOSING = /\s*(?:<\/tool_call>|$)/y;

/**
 * Calls in a message's `tool_calls`, as OpenAI's API gives them, or else in its text as
 * `<tool_call>{"name": "n", "arguments": {…}}</tool_call>`, as Hermes and Qwen write them. Each is answered by a
 * message with its `tool_call_id`.
 *
 * Text that is no JSON is told to the model. A last call whose closing tag is missing counts when it is whole.
 */
export function openaiCalls(): ToolCallParser {
  return {
    parse,
    faultText: agenticFaultText,
    render: (answers, role) => answers.map((answer) => answerMessage(answer, role)),
  };
}

function parse(message: Message): ParsedMessage {
  const { tool_calls: calls = [] } = message;
  if (calls.length > 0) return { text: messageText(message), calls: calls.map(nativeCall) };
  return parseText(messageText(message));
}

function nativeCall({ id, name, arguments: args }: ToolCall): ParsedCall {
  // a tool may change what it is given, and the message must not change with it
  const read = typeof args === "string" ? readArguments(args) : { arguments: structuredClone(args) };
  return { name, ...read, ...(id !== undefined && { callId: id }) };
}

function parseText(text: string): ParsedMessage {
  const calls: ParsedCall[] = [];
  let rest = "";
  let at = 0;
  for (let start = text.indexOf(OPEN); start >= 0; start = text.indexOf(OPEN, at)) {
    const body = start + OPEN.length;
    const { call, end } = textCall(text, body);
    rest += text.slice(at, start);
    at = end;
    if (call !== undefined) calls.push(call);
    else rest += text.slice(start, end);
  }
  return { text: (rest + text.slice(at)).trim(), calls };
}

function textCall(text: string, body: number): { call?: ParsedCall; end: number } {
  try {
    const { value, end } = scanJson(text, body);
    const behind = matchAt(CLOSING, text, end);
    if (behind !== undefined) return { call: namedCall(value), end: end + behind.length };
  } catch (error) {
    const close = text.indexOf(CLOSE, body);
    const fault = error instanceof Error ? error.message : String(error);
    if (close >= 0) return { call: { name: UNNAMED, arguments: {}, fault }, end: close + CLOSE.length };
  }
  const close = text.indexOf(CLOSE, body);
  if (close < 0) return { end: text.length };
  const fault = "there must be one JSON object in a call and nothing behind it";
  return { call: { name: UNNAMED, arguments: {}, fault }, end: close + CLOSE.length };
}

function namedCall(value: unknown): ParsedCall {
  const { function: inner, id, ...outer } = typeof value === "object" && value !== null
    ? value as Record<string, unknown>
    : {};
  const { name, arguments: args, parameters } = typeof inner === "object" && inner !== null
    ? inner as Record<string, unknown>
    : outer;
  if (typeof name !== "string") {
    return { name: UNNAMED, arguments: {}, fault: "a call must be a JSON object with a text as 'name'" };
  }
  const given = args ?? parameters;
  const read = typeof given === "string" ? readArguments(given) : objectArguments(given);
  return { name: name.trim(), ...read, ...(typeof id === "string" && { callId: id }) };
}

function answerMessage({ callId, name, text, parts }: ToolAnswer, role: string): Message {
  return { role, tool_call_id: callId, name, content: parts ?? text };
}
