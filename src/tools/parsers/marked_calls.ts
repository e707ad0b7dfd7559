import { escape } from "@std/regexp";
import { callsOfValue, invalidCall, parseArguments } from "./call_arguments.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { scanJson, stickyMatch } from "./json_scan.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { pythonicCalls } from "./pythonic_calls.ts";
import { readTextCalls } from "./text_calls.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";

/** Syntax of calls that stand between two markers. */
interface MarkedSyntax {
  readonly open: string;
  /** Marker after the calls. The calls of a reply that was cut off may lack the marker. */
  readonly close: string;
  /** True if the calls end a thought without a closing tag. */
  readonly endsThought?: boolean;
  /** Reads the calls from an index on. `end` is the index after the last character that belongs to them. */
  read(text: string, start: number): { calls: readonly ParsedCall[]; end: number };
}

/** Returns a parser for a syntax. The text of a message is what stands outside the markers. */
function markedCalls(syntax: MarkedSyntax): ToolCallParser {
  const { open, close, endsThought } = syntax;
  const regions = { open: new RegExp(escape(open)), close, endsThought };
  return {
    parse: (message) =>
      nativeCalls(message) ?? readTextCalls(message, (text) => parseText(text, syntax), regions),
    faultText: agenticFaultMessage,
    render: renderByCallId,
  };
}

function parseText(text: string, { open, close, read }: MarkedSyntax): ParsedMessage {
  const calls: ParsedCall[] = [];
  let rest = "";
  let at = 0;
  let tried = 0;
  for (let start = text.indexOf(open); start >= 0; start = text.indexOf(open, at)) {
    if (calls.length >= MAX_PARSED_CALLS || ++tried > MAX_PARSED_CALLS) break;
    const found = read(text, start + open.length);
    calls.push(...found.calls.slice(0, MAX_PARSED_CALLS - calls.length));
    rest += text.slice(at, start);
    const end = text.indexOf(close, found.end);
    at = end < 0 ? Math.max(found.end, start + open.length) : end + close.length;
  }
  return { text: (rest + text.slice(at)).trim(), calls };
}

const SPACE = /[\s,;]*/y;

/** Reads JSON values, each a call or a list of calls, up to the first text that is none. */
function readJsonCalls(
  text: string,
  start: number,
  { close, toCalls = callsOfValue }: {
    close: string;
    toCalls?: (value: unknown, json: string) => ParsedCall[];
  },
): { calls: ParsedCall[]; end: number } {
  const calls: ParsedCall[] = [];
  let at = start + (stickyMatch(SPACE, text, start)?.length ?? 0);
  while (calls.length < MAX_PARSED_CALLS && at < text.length && !text.startsWith(close, at)) {
    try {
      const { value, end } = scanJson(text, at);
      calls.push(...toCalls(value, text.slice(at, end)));
      at = end + (stickyMatch(SPACE, text, end)?.length ?? 0);
    } catch (error) {
      if (calls.length === 0) calls.push(invalidCall(error));
      break;
    }
  }
  return { calls, end: at };
}

/**
 * Returns a parser for calls of Granite 3 and Phi 4: `<|tool_call|>[{"name": "n", "arguments": {…}}]`, with
 * a following `<|/tool_call|>` in Phi 4's form.
 */
export function graniteCalls(): ToolCallParser {
  const [open, close] = ["<|tool_call|>", "<|/tool_call|>"];
  return markedCalls({ open, close, read: (text, start) => readJsonCalls(text, start, { close }) });
}

/**
 * Returns a parser for calls of Command A and R7B: `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "n",
 * "parameters": {…}}]<|END_ACTION|>`.
 */
export function cohereCalls(): ToolCallParser {
  const [open, close] = ["<|START_ACTION|>", "<|END_ACTION|>"];
  const rename = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rename);
    if (typeof value !== "object" || value === null || !("tool_name" in value)) return value;
    const { tool_name: name, tool_call_id: id, ...rest } = value as Record<string, unknown>;
    return { ...rest, name, ...(id !== undefined && { id: String(id) }) };
  };
  const toCalls = (value: unknown, json: string) => callsOfValue(rename(value), json);
  return markedCalls({ open, close, read: (text, start) => readJsonCalls(text, start, { close, toCalls }) });
}

/**
 * Returns a parser for calls of LFM2: `<|tool_call_start|>[name(key="value")]<|tool_call_end|>`, or a JSON list in that
 * place.
 */
export function lfm2Calls(): ToolCallParser {
  const [open, close] = ["<|tool_call_start|>", "<|tool_call_end|>"];
  const { parse } = pythonicCalls();
  const read = (text: string, start: number) => {
    if (/^\s*\[?\s*\{/.test(text.slice(start, start + 200))) return readJsonCalls(text, start, { close });
    const end = text.indexOf(close, start);
    const inner = text.slice(start, end < 0 ? text.length : end);
    const { calls } = parse({ role: "assistant", content: inner.trim() });
    const fault = "there must be a list of calls such as [name(key=1)]";
    return { calls: calls.length > 0 ? calls : [invalidCall(fault)], end: start + inner.length };
  };
  return markedCalls({ open, close, read });
}

/** Reads calls that each stand between two markers, by a function of the text between them. */
function readEach(
  text: string,
  start: number,
  { open, close, section, toCall }: {
    open: string;
    close: string;
    section: string;
    toCall: (text: string, start: number) => { call: ParsedCall; end: number };
  },
): { calls: ParsedCall[]; end: number } {
  const calls: ParsedCall[] = [];
  let at = start;
  let sectionEnd = text.indexOf(section, at);
  while (calls.length < MAX_PARSED_CALLS) {
    const next = text.indexOf(open, at);
    if (sectionEnd >= 0 && sectionEnd < at) sectionEnd = text.indexOf(section, at);
    if (next < 0 || (sectionEnd >= 0 && sectionEnd < next)) break;
    const { call, end } = toCall(text, next + open.length);
    calls.push(call);
    const closing = text.indexOf(close, end);
    at = closing < 0 ? text.length : closing + close.length;
  }
  return { calls, end: at };
}

/** Reads the JSON arguments of a call. Text that is not JSON ends at the marker after the call. */
function readArguments(
  text: string,
  start: number,
  { close, ...named }: { name: string; callId?: string; close: string },
): { call: ParsedCall; end: number } {
  try {
    const { end } = scanJson(text, start);
    return { call: { ...named, ...parseArguments(text.slice(start, end)) }, end };
  } catch (error) {
    const end = text.indexOf(close, start);
    return { call: { ...invalidCall(error), ...named }, end: end < 0 ? text.length : end };
  }
}

const KIMI_ID = /^\s*(?:functions\.)?([^\s:]{1,256})(?::\d+)?\s*$/;

/**
 * Returns a parser for calls of Kimi K2: `<|tool_call_begin|>functions.n:0<|tool_call_argument_begin|>{…}
 * <|tool_call_end|>`, all calls in one section. A section ends a thought that the model did not close.
 */
export function kimiCalls(): ToolCallParser {
  const section = "<|tool_calls_section_end|>";
  const [open, close] = ["<|tool_call_begin|>", "<|tool_call_end|>"];
  const separator = "<|tool_call_argument_begin|>";
  const toCall = (text: string, start: number) => {
    const at = text.indexOf(separator, start);
    const callId = text.slice(start, at < 0 ? start : at).trim();
    const name = KIMI_ID.exec(callId)?.[1];
    if (at < 0 || name === undefined) {
      const call = invalidCall(`a call must begin with an id such as functions.name:0, and ${separator}`);
      return { call, end: start };
    }
    return readArguments(text, at + separator.length, { name, callId, close });
  };
  const read = (text: string, start: number) => readEach(text, start, { open, close, section, toCall });
  return markedCalls({ open: "<|tool_calls_section_begin|>", close: section, endsThought: true, read });
}

/** A name, a line end and a fence, as DeepSeek V3 writes them before the arguments. */
const FENCED = /\s*([^\s`]{1,256})[ \t]*\n```(?:json)?[ \t]*\n?/y;

/**
 * Returns a parser for calls of DeepSeek: V3.1's `<｜tool▁call▁begin｜>n<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, or V3's and
 * R1's, with `function` before the separator, and the name and a fenced block after the separator.
 */
export function deepseekCalls(): ToolCallParser {
  const section = "<｜tool▁calls▁end｜>";
  const [open, close] = ["<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"];
  const separator = "<｜tool▁sep｜>";
  const toCall = (text: string, start: number) => {
    const at = text.indexOf(separator, start);
    if (at < 0) return { call: invalidCall(`a call must have ${separator} after its name`), end: start };
    const body = at + separator.length;
    const head = text.slice(start, at).trim();
    const fence = stickyMatch(FENCED, text, body);
    const name = fence?.trim().split(/\s/, 1)[0] ?? head;
    if (name === "") return { call: invalidCall(`a call must have a name beside ${separator}`), end: body };
    if (fence === undefined) return readArguments(text, body, { name, close });
    return readArguments(text, body + fence.length, { name, close });
  };
  const read = (text: string, start: number) => readEach(text, start, { open, close, section, toCall });
  return markedCalls({ open: "<｜tool▁calls▁begin｜>", close: section, read });
}
