import type { ChatFormat } from "../../chat/chat_format.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { messageText } from "../../message.ts";
import type { Reply } from "../../policy/policy.ts";
import { normalizeText } from "./same_text.ts";

/** Reply, its ids, and their decoded text. */
export interface DecodedReply {
  readonly reply: Reply;
  readonly ids: readonly number[];
  readonly text: string;
}

/**
 * True if a reply's ids match its message: their text must start with the message, and only the end of a reply may
 * follow. If the server returns the thought or the calls separately, these may stand before or after the message.
 */
export function idsMatchMessage(
  { reply, ids, text }: DecodedReply,
  format: ChatFormat,
  tokenizer: Tokenizer,
): boolean {
  const { message, stopText } = reply;
  const normalize = (text: string) =>
    removeVariableText(text, [...tokenizer.specialTokens, ...format.endTokens]);
  const decodedText = normalize(text);
  const messageContent = normalize(messageText(message));
  if (message.tool_calls !== undefined) return decodedText.includes(messageContent);
  const at = message.reasoning_content === undefined
    ? decodedText.indexOf(messageContent)
    : decodedText.lastIndexOf(messageContent);
  if (at < 0 || (at > 0 && message.reasoning_content === undefined)) return false;
  const ended = at + messageContent.length;
  if (ended === decodedText.length) return true;
  if (!stopText || !decodedText.startsWith(stopText, ended)) return false;
  const stopped = ended + stopText.length;
  // a stop text may end within the last token, whose rest then follows it
  return stopped === decodedText.length || normalize(tokenizer.decode(ids.slice(0, -1))).length < stopped;
}

/**
 * Removes from a text what servers leave out or change: special tokens, the bytes of an incomplete character, and
 * spaces before punctuation and at the start, which some tokenizers remove when they decode.
 */
function removeVariableText(text: string, specials: readonly string[]): string {
  const visible = specials.reduce((text, token) => token === "" ? text : text.replaceAll(token, ""), text);
  return normalizeText(visible).replace(/\ufffd+$/, "").replace(/^ /, "")
    .replaceAll(" ' ", "'").replace(/ +(?=[.?!,]|n't|'m|'s|'ve|'re)/g, "");
}
