import { type Message, messageText } from "../message.ts";
import { scanJson } from "./json_scan.ts";
import { matchAt } from "./match_at.ts";
import { readArguments } from "./read_arguments.ts";
import { registryStyle, type RegistryStyleOptions } from "./registry_style.ts";
import type { ParsedCall, ParsedMessage, ToolCallParser } from "./tool_call_parser.ts";

const CLOSE = "</tool>";
const CLOSING = /\s*<\/tool>/y;
const OPEN = /<tool((?:\s+(?:name|tag)\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))+)\s*>/g;
const ATTRIBUTE = /(name|tag)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/**
 * Calls written as `<tool name="N" tag="T">JSON</tool>`, all answered by one `<tool_results>` block: TorchRL's
 * registry of tools.
 *
 * `tag` may be missing or empty; single quotes and the other order count too. A body that is no JSON is told to
 * the model, and stands in the arguments as `{ raw }`.
 */
export function xmlCalls(options: RegistryStyleOptions = {}): ToolCallParser {
  return { parse, ...registryStyle(options) };
}

function parse(message: Message): ParsedMessage {
  const text = messageText(message);
  const calls: ParsedCall[] = [];
  let rest = "";
  let at = 0;
  for (const { index, 0: head, 1: attributes = "" } of text.matchAll(OPEN)) {
    const { name = "", tag = "" } = readAttributes(attributes);
    if (index < at || name.trim() === "") continue;
    const body = index + head.length;
    const close = closing(text, body);
    if (close < 0) break;
    const raw = text.slice(body, close).trim();
    const read = readArguments(raw);
    const callId = tag === "" ? {} : { callId: tag };
    calls.push({
      name: name.trim(),
      ...read,
      ...(read.fault !== undefined && { arguments: { raw } }),
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

/** Where the closing tag stands, one in a JSON string passed over; -1 when there is none. */
function closing(text: string, body: number): number {
  try {
    const { end } = scanJson(text, body);
    const behind = matchAt(CLOSING, text, end);
    if (behind !== undefined) return end + behind.length - CLOSE.length;
  } catch {
    // what stands there is told to the model, up to the closing tag
  }
  return text.indexOf(CLOSE, body);
}
