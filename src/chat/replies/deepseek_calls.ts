import { parseUntrustedJson } from "../../json.ts";
import { exactText } from "../../numbers/exact_numbers.ts";
import type { ToolCall } from "../../message.ts";

const OPEN = "<｜tool▁calls▁begin｜>";
const CLOSE = "<｜tool▁calls▁end｜>";
const CALL_OPEN = "<｜tool▁call▁begin｜>";
const CALL_CLOSE = "<｜tool▁call▁end｜>";
/** A call of V3 and R1, whose JSON is a block of code after the name. */
const BLOCK = /^function<｜tool▁sep｜>([^\n<]{1,256})\n```json\n(.*)\n```$/s;
/** A call of V3.1. */
const PLAIN = /^([^\n<]{1,256})<｜tool▁sep｜>(.*)$/s;

/** Splits a reply of DeepSeek V3, R1 and V3.1. Calls that cannot be read stay text. */
export function splitDeepseekReply(text: string): { content: string; calls?: readonly ToolCall[] } {
  const start = text.indexOf(OPEN);
  if (start < 0) return { content: text };
  const end = text.indexOf(CLOSE, start);
  const section = text.slice(start + OPEN.length, end < 0 ? text.length : end);
  const pieces = section.split(CALL_CLOSE).map((piece) => piece.trim()).filter((piece) => piece !== "");
  const calls = pieces.map(readCall).filter((call) => call !== undefined);
  const after = end < 0 ? "" : text.slice(end + CLOSE.length);
  if (calls.length === 0 || calls.length < pieces.length || after.trim() !== "") return { content: text };
  return { content: text.slice(0, start), calls };
}

function readCall(piece: string): ToolCall | undefined {
  if (!piece.startsWith(CALL_OPEN)) return undefined;
  const call = piece.slice(CALL_OPEN.length);
  const [, name, json = ""] = BLOCK.exec(call) ?? PLAIN.exec(call) ?? [];
  if (name === undefined) return undefined;
  try {
    const value = parseUntrustedJson(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const exact = exactText(json);
    return { name, arguments: { ...value }, ...(exact !== undefined && { arguments_text: exact }) };
  } catch {
    return undefined; // a model may write invalid JSON, which stays text
  }
}
