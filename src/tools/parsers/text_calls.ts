import { type CallRegions, type ReplyPart, splitThoughts } from "../../chat/replies/thoughts.ts";
import { type Message, messageText } from "../../message.ts";
import type { ParsedMessage } from "./tool_call_parser.ts";

/**
 * Reads the calls in a message's text by a function of the text, without calls in thoughts, and without calls at the end
 * that a limit of tokens cut off. Like a server with a reasoning parser, the function reads the text outside of thoughts.
 * Calls in thoughts are counted.
 */
export function readTextCalls(
  message: Message,
  parseText: (text: string) => ParsedMessage,
  regions: CallRegions,
): ParsedMessage {
  const reply = messageText(message);
  const parts = splitThoughts(reply, regions);
  const thoughts = parts.flatMap(({ thought }) => thought === undefined ? [] : [thought.content]);
  if (thoughts.length === 0) return withoutCutCall(parseText(reply), message);
  const parsed = parseParts(parts, { parseText, mark: unusedMark(reply) });
  const callsInThoughts = thoughts.reduce((sum, thought) => sum + parseText(thought).calls.length, 0);
  return withoutCutCall(callsInThoughts === 0 ? parsed : { ...parsed, callsInThoughts }, message);
}

/** Parses a text with a mark in place of each thought, except for those before all other text. */
function parseParts(
  parts: readonly ReplyPart[],
  { parseText, mark }: { parseText: (text: string) => ParsedMessage; mark: string },
): ParsedMessage {
  const first = parts.findIndex(({ text, thought }) => thought === undefined && text.trim() !== "");
  const [head, rest] = first < 0 ? [parts, []] : [parts.slice(0, first), parts.slice(first)];
  const masked = rest.map((part) => part.thought === undefined ? part.text : mark).join("");
  const { text, calls } = parseText(masked);
  const marked = rest.filter(({ thought }) => thought !== undefined).values();
  const shown = mark === "" ? text : text.replaceAll(mark, () => marked.next().value?.text ?? "");
  const space = masked.slice(0, masked.length - masked.trimStart().length);
  const before = head.map((part) => part.text).join("") + (text.startsWith(space) ? "" : space);
  return { text: shown === "" ? before.trim() : before + shown, calls };
}

/** Returns a character that a text does not have; empty if the text has all 32 characters that Unicode reserves. */
function unusedMark(text: string): string {
  for (let code = 0xfdd0; code <= 0xfdef; code++) {
    const mark = String.fromCharCode(code);
    if (!text.includes(mark)) return mark;
  }
  return "";
}

/** True if a limit of tokens cut the message off, so that the end is missing. */
export function isCutOff({ is_complete: isComplete }: Message): boolean {
  return isComplete === false;
}

/**
 * Returns the calls of a message without calls at the end that a limit of tokens cut off: calls without their closing
 * tag, and an unreadable last call, which is no mistake of the model. If no call is left, the text is the whole
 * message.
 */
export function withoutCutCall(parsed: ParsedMessage, message: Message): ParsedMessage {
  if (!isCutOff(message) || parsed.calls.length === 0) return parsed;
  const closed = parsed.calls.filter(({ isClosed }) => isClosed !== false);
  const calls = closed.length === parsed.calls.length && closed.at(-1)?.fault !== undefined
    ? closed.slice(0, -1)
    : closed;
  if (calls.length === parsed.calls.length) return parsed;
  return { ...parsed, text: calls.length === 0 ? messageText(message) : parsed.text, calls };
}
