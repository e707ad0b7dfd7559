import { type Message, messageText } from "../../message.ts";
import type { ParsedMessage } from "./tool_call_parser.ts";

/** True if a limit of tokens cut the message off, so that its end is missing. */
export function isCutOff({ is_complete: isComplete }: Message): boolean {
  return isComplete === false;
}

/**
 * Returns the calls of a message without a last one that was cut off: what could not be read at the end of such a message
 * is no mistake of the model. If no call is left, the text is the whole message.
 */
export function withoutCutCall(parsed: ParsedMessage, message: Message): ParsedMessage {
  if (!isCutOff(message) || parsed.calls.at(-1)?.fault === undefined) return parsed;
  const calls = parsed.calls.slice(0, -1);
  return { text: calls.length === 0 ? messageText(message) : parsed.text, calls };
}
