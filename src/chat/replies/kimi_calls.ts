import { parseUntrustedJson } from "../../json.ts";
import { exactText } from "../../numbers/exact_numbers.ts";
import type { ToolCall } from "../../message.ts";

const SECTION = "<|tool_calls_section_begin|>";
const SECTION_END = "<|tool_calls_section_end|>";
const CALL =
  /^\s*<\|tool_call_begin\|>\s*((?:functions\.)?([^\s:<]+)(?::\d+)?)\s*<\|tool_call_argument_begin\|>(.*)$/s;

/**
 * Splits a reply of Kimi K2 into the fields of the template, which names the ids of calls in their results. Calls that
 * cannot be read stay text.
 */
export function splitKimiReply(text: string): { content: string; calls?: readonly ToolCall[] } {
  const start = text.indexOf(SECTION);
  if (start === -1) return { content: text };
  const end = text.indexOf(SECTION_END, start);
  const section = text.slice(start + SECTION.length, end === -1 ? text.length : end);
  const pieces = section.split("<|tool_call_end|>").filter((piece) => piece.trim() !== "");
  const calls = pieces.map(readCall).filter((call) => call !== undefined);
  const after = end === -1 ? "" : text.slice(end + SECTION_END.length);
  if (calls.length === 0 || calls.length < pieces.length || after.trim() !== "") return { content: text };
  return { content: text.slice(0, start), calls };
}

function readCall(piece: string): ToolCall | undefined {
  const [, id, name, json = ""] = CALL.exec(piece) ?? [];
  if (id === undefined || name === undefined) return undefined;
  try {
    const value = parseUntrustedJson(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const exact = exactText(json);
    return { id, name, arguments: { ...value }, ...(exact !== undefined && { arguments_text: exact }) };
  } catch {
    return undefined; // a model may write invalid JSON, which stays text
  }
}
