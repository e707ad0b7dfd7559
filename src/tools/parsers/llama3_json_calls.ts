import type { Message } from "../../message.ts";
import { readTextCalls } from "./text_calls.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { scanJson, stickyMatch } from "./json_scan.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";
import { callsOfValue, invalidLastCall } from "./call_arguments.ts";

const TAG = "<|python_tag|>";
const BETWEEN = /[\s;,]*(?:<\|python_tag\|>)?\s*/y;
/** A reply that starts as a JSON object, or as a list of objects. */
const BARE = /^\s*(?:\[\s*)?\{/;
const REGIONS = { open: /<\|python_tag\|>/, bare: BARE };
/** The beginning of a further call. */
const FURTHER = /^\{\s*"(?:name|type|function|parameters|arguments)"\s*:/;

/**
 * Returns a parser for calls in Llama 3's form: `{"name": "n", "parameters": {…}}`, after
 * `<|python_tag|>` or at the start of the reply. `;` separates several calls. The text is the part before the
 * tag, or after calls without a tag.
 *
 * Without the tag, a reply whose first JSON is not such a call, with a `name` and with `parameters` or `arguments`, is
 * text: an answer in JSON may have a `name`.
 *
 * The tag is a special token: the server must keep special tokens in the text (`skip_special_tokens: false`).
 */
export function llama3JsonCalls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  return nativeCalls(message) ?? readTextCalls(message, parseText, REGIONS);
}

function parseText(text: string): ParsedMessage {
  const tag = text.indexOf(TAG);
  if (tag >= 0) return { text: text.slice(0, tag).trim(), calls: callsFrom(text, tag + TAG.length) };
  return BARE.test(text) ? untaggedCalls(text) : { text, calls: [] };
}

function untaggedCalls(text: string): ParsedMessage {
  const calls: ParsedCall[] = [];
  for (let at = 0; at < text.length && calls.length < MAX_PARSED_CALLS;) {
    try {
      const { value, end } = scanJson(text, at);
      if (!isCall(value)) {
        return calls.length === 0 ? { text, calls } : { text: text.slice(at).trim(), calls };
      }
      calls.push(...callsOfValue(value, text.slice(at, end)).slice(0, MAX_PARSED_CALLS - calls.length));
      at = end + (stickyMatch(BETWEEN, text, end)?.length ?? 0);
    } catch (error) {
      const rest = text.slice(at).trim();
      const isCut = FURTHER.test(rest.slice(0, 64).replace(/^\[\s*/, ""));
      return isCut ? { text: "", calls: [...calls, invalidLastCall(error)] } : { text: rest, calls };
    }
  }
  return { text: "", calls };
}

/** Returns true for a call, and for a list of calls. */
function isCall(value: unknown): boolean {
  if (Array.isArray(value)) {
    return value.length > 0 && value.every((item) => !Array.isArray(item) && isCall(item));
  }
  if (typeof value !== "object" || value === null) return false;
  const { function: inner = value } = value as { readonly function?: unknown };
  if (typeof inner !== "object" || inner === null) return false;
  const { name, parameters, arguments: args } = inner as Record<string, unknown>;
  return typeof name === "string" && isArguments(args === undefined ? parameters : args);
}

/** Returns true for an object, for null, and for a text that may be the JSON of an object. */
function isArguments(value: unknown): boolean {
  if (typeof value === "string") return /^\s*(?:\{|$)/.test(value);
  return typeof value === "object" && !Array.isArray(value);
}

function callsFrom(text: string, start: number): ParsedCall[] {
  const calls: ParsedCall[] = [];
  for (let at = start; at < text.length && calls.length < MAX_PARSED_CALLS;) {
    try {
      const { value, end } = scanJson(text, at);
      calls.push(...callsOfValue(value, text.slice(at, end)).slice(0, MAX_PARSED_CALLS - calls.length));
      at = end + (stickyMatch(BETWEEN, text, end)?.length ?? 0);
    } catch (error) {
      return [...calls, invalidLastCall(error)];
    }
  }
  return calls;
}
