import { requireKnownOptions } from "../../options.ts";
import type { Message } from "../../message.ts";
import { readTextCalls } from "./text_calls.ts";
import { parseJson } from "./json_scan.ts";
import { parseArguments, toArguments } from "./call_arguments.ts";
import { registryStyle, type RegistryStyleOptions } from "./registry_style.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
  UNNAMED,
} from "./tool_call_parser.ts";
import { isJsonObject } from "../../json.ts";

/** A reply is a single call from the first brace or fence on. */
const REGIONS = { open: /(?!)/, bare: /^(?:\{|```)/ };

/**
 * Returns a parser for replies that are a single JSON object: `{"message": "…", "tools": [{"tool": "n", "args":
 * {…}, "tag": "x"}]}`, with or without a code fence. A single `<tool_results>` block answers all calls.
 *
 * Any other reply is plain text without calls, also an object without `message` and `tools`, such as an answer in JSON.
 * An entry of `tools` without a tool name gives an error that the model reads.
 */
export function jsonCalls(options: RegistryStyleOptions = {}): ToolCallParser {
  requireKnownOptions("call jsonCalls", options, { errorKeyFails: true });
  return { parse, ...registryStyle(options) };
}

function parse(message: Message): ParsedMessage {
  return readTextCalls(message, parseText, REGIONS);
}

function parseText(text: string): ParsedMessage {
  const reply = replyObject(text);
  if (reply === undefined || !("message" in reply || "tools" in reply)) return { text, calls: [] };
  const { message: replyText, tools } = reply;
  return {
    text: typeof replyText === "string" ? replyText : "",
    calls: Array.isArray(tools) ? tools.slice(0, MAX_PARSED_CALLS).map(call) : [],
  };
}

function replyObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(stripFence(text));
    return isJsonObject(value) ? { ...value } : undefined;
  } catch {
    return undefined; // a reply that is not JSON is plain text
  }
}

/** Returns the content of a code fence, or the text itself if the text is no fence. */
function stripFence(text: string): string {
  const fence = text.trim();
  const first = fence.indexOf("\n");
  const last = fence.lastIndexOf("\n");
  const opens = OPENINGS.includes(fence.slice(0, first).trim());
  return first < last && opens && fence.slice(last).trim() === "```" ? fence.slice(first + 1, last) : text;
}

const OPENINGS = ["```", "```json"];

function call(entry: unknown): ParsedCall {
  const { tool, args, tag } = typeof entry === "object" && entry !== null
    ? entry as Record<string, unknown>
    : {};
  const callId = typeof tag === "string" && tag !== "" ? { callId: tag } : {};
  if (typeof tool !== "string") {
    return { name: UNNAMED, arguments: {}, fault: "a call must name its 'tool' as a text", ...callId };
  }
  const read = typeof args === "string" ? parseArguments(args) : toArguments(args);
  return { name: tool.trim(), ...read, ...callId };
}
