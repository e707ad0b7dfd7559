import { type Message, messageText } from "../../message.ts";
import type { ParsedMessage } from "./tool_call_parser.ts";

/** True if a limit of tokens cut the message off, so that its end is missing. */
export function isCutOff({ is_complete: isComplete }: Message): boolean {
  return isComplete === false;
}

/**
 * Returns the calls of a message without those at its end that a limit of tokens cut off: calls without their closing
 * tag, and a last one that could not be read, which is no mistake of the model. If no call is left, the text is the whole
 * message.
 */
export function withoutCutCall(parsed: ParsedMessage, message: Message): ParsedMessage {
  if (!isCutOff(message) || parsed.calls.length === 0) return parsed;
  const closed = parsed.calls.filter(({ isClosed }) => isClosed !== false);
  const calls = closed.length === parsed.calls.length && closed.at(-1)?.fault !== undefined
    ? closed.slice(0, -1)
    : closed;
  if (calls.length === parsed.calls.length) return parsed;
  return { text: calls.length === 0 ? messageText(message) : parsed.text, calls };
}
