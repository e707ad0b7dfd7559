import { requireKnownOptions } from "../../options.ts";
import type { Message } from "../../message.ts";
import { isCutOff, readTextCalls } from "./text_calls.ts";
import { simpleFaultMessage } from "./fault_messages.ts";
import { scanJson, stickyMatch } from "./json_scan.ts";
import { parseArguments } from "./call_arguments.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
  type ToolResponse,
} from "./tool_call_parser.ts";

/** Options of {@linkcode tagCalls}. */
export interface TagCallsOptions {
  /**
   * Returns the message about a failed call.
   * @default the wording of TorchRL's simple tools
   */
  faultText?: ToolCallParser["faultText"] | undefined;
}

const OPEN = "<tool>";
const CLOSE = "</tool>";
const CLOSING = /\s*(?:<\/tool>|$)/y;
const CLOSED = /\s*<\/tool>/y;
const REGIONS = { open: /<tool>[^\n<]{1,256}[\n<]/, close: CLOSE };
/** Maximum length of a tool name. */
const MAX_NAME = 256;

interface Tag extends ParsedCall {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns a parser for calls of TorchRL's simple tools: `<tool>name`, a line end, JSON arguments, `</tool>`.
 *
 * Spaces around the name are removed. A `</tool>` inside a JSON string does not close a call. A last call
 * without a closing tag counts if the arguments are complete, because many servers cut a reply there, unless a limit of
 * tokens cut the message off. A separate message answers each call.
 */
export function tagCalls(options: TagCallsOptions = {}): ToolCallParser {
  requireKnownOptions("call tagCalls", options, { faultText: true });
  const { faultText = simpleFaultMessage } = options;
  return {
    parse,
    faultText,
    render: (answers, role) => answers.map((answer) => answerMessage(answer, role)),
  };
}

function parse(message: Message): ParsedMessage {
  const closing = isCutOff(message) ? CLOSED : CLOSING;
  return readTextCalls(message, (text) => parseText(text, closing), REGIONS);
}

function parseText(text: string, closing: RegExp): ParsedMessage {
  const calls: ParsedCall[] = [];
  const lastClose = text.lastIndexOf(CLOSE);
  let rest = "";
  let at = 0;
  let tried = 0;
  for (let start = text.indexOf(OPEN); start >= 0; start = text.indexOf(OPEN, start + OPEN.length)) {
    if (start < at) continue;
    if (++tried > MAX_PARSED_CALLS) break;
    const tag = readTag(text, start, { lastClose, closing });
    if (tag === undefined) continue;
    const { start: _start, end, ...call } = tag;
    calls.push(call);
    rest += text.slice(at, tag.start);
    at = end;
  }
  return { text: (rest + text.slice(at)).trim(), calls };
}

function readTag(
  text: string,
  start: number,
  { lastClose, closing: pattern }: { lastClose: number; closing: RegExp },
): Tag | undefined {
  const misplaced = callOnOneLine(text, start);
  if (misplaced !== undefined) return misplaced;
  const [head = "", rawName = ""] = /^<tool>([^\n<]*)(?:\n|(?=<\/tool>))/.exec(
    text.slice(start, start + OPEN.length + MAX_NAME + 1),
  ) ?? [];
  const name = rawName.trim();
  if (name === "") return undefined;
  const body = start + head.length;
  const end = jsonEnd(text, body);
  const closing = end === undefined ? undefined : stickyMatch(pattern, text, end);
  if (end !== undefined && closing !== undefined) {
    const isClosed = closing.endsWith(CLOSE);
    const call = { name, ...parseArguments(text.slice(body, end)), start, end: end + closing.length };
    return isClosed ? call : { ...call, isClosed };
  }
  if (body > lastClose) return undefined;
  const close = text.indexOf(CLOSE, body);
  return { name, ...parseArguments(text.slice(body, close)), start, end: close + CLOSE.length };
}

/** Returns a call whose arguments are on the line of the name, against the format. */
function callOnOneLine(text: string, start: number): Tag | undefined {
  const [, rawName = ""] = /^<tool>([^\n<{]*)\{/.exec(text.slice(start, start + OPEN.length + MAX_NAME)) ??
    [];
  const name = rawName.trim();
  const close = name === "" ? -1 : text.indexOf(CLOSE, start);
  if (close < 0) return undefined;
  const fault = "there must be a line break between the name of the tool and its arguments";
  return { name, arguments: {}, fault, start, end: close + CLOSE.length };
}

function jsonEnd(text: string, body: number): number | undefined {
  try {
    return scanJson(text, body).end;
  } catch {
    return undefined; // the text up to the closing tag becomes an error that the model reads
  }
}

function answerMessage({ name, ok, text, parts }: ToolResponse, role: string): Message {
  const head = ok ? `Tool ${name} executed successfully:\n` : `Tool ${name} failed:\n`;
  if (parts === undefined) return { role, content: head + text };
  return { role, content: [{ type: "text", text: head }, ...parts] };
}
