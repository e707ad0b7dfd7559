import { requireKnownOptions } from "../../options.ts";
import type { Message } from "../../message.ts";
import { scanJson, stickyMatch } from "./json_scan.ts";
import { parseArguments } from "./call_arguments.ts";
import { readTextCalls } from "./text_calls.ts";
import { registryStyle, type RegistryStyleOptions } from "./registry_style.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";

const CLOSE = "</tool>";
const CLOSING = /\s*<\/tool>/y;
const OPEN = /<tool((?:\s+(?:name|tag)\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))+)\s*>/g;
const REGIONS = { open: OPEN, close: CLOSE };
const ATTRIBUTE = /(name|tag)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/**
 * Returns a parser for calls of TorchRL's tool registry: `<tool name="N" tag="T">JSON</tool>`. A
 * single `<tool_results>` block answers all calls.
 *
 * `tag` may be missing or empty. Single quotes and the reverse order of attributes are allowed. A body that
 * is not JSON becomes the arguments `{ raw }`; for a tool without a parameter `raw`, such a body gives an error that
 * the model reads.
 */
export function xmlCalls(options: RegistryStyleOptions = {}): ToolCallParser {
  requireKnownOptions("call xmlCalls", options, { errorKeyFails: true });
  return { parse, ...registryStyle(options) };
}

function parse(message: Message): ParsedMessage {
  return readTextCalls(message, parseText, REGIONS);
}

function parseText(text: string): ParsedMessage {
  const calls: ParsedCall[] = [];
  let rest = "";
  let at = 0;
  for (const { index, 0: head, 1: attributes = "" } of text.matchAll(OPEN)) {
    const { name = "", tag = "" } = readAttributes(attributes);
    if (index < at || name.trim() === "") continue;
    const body = index + head.length;
    const close = closingIndex(text, body);
    if (close < 0 || calls.length >= MAX_PARSED_CALLS) break;
    const raw = text.slice(body, close).trim();
    const parsed = parseArguments(raw);
    const callId = tag === "" ? {} : { callId: tag };
    calls.push({
      name: name.trim(),
      ...parsed,
      ...(parsed.fault !== undefined && { arguments: { raw } }),
      ...callId,
    });
    rest += text.slice(at, index);
    at = close + CLOSE.length;
  }
  return { text: (rest + text.slice(at)).trim(), calls };
}

function readAttributes(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name = "", double, single] of text.matchAll(ATTRIBUTE)) {
    attributes[name] ??= double ?? single ?? "";
  }
  return attributes;
}

/** Returns the index of the closing tag, ignoring tags inside a JSON string; -1 if there is no closing tag. */
function closingIndex(text: string, body: number): number {
  try {
    const { end } = scanJson(text, body);
    const match = stickyMatch(CLOSING, text, end);
    if (match !== undefined) return end + match.length - CLOSE.length;
  } catch {
    // the text up to the closing tag becomes an error that the model reads
  }
  return text.indexOf(CLOSE, body);
}
