import type { ChatFormat } from "../../chat/chat_format.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { messageText } from "../../message.ts";
import type { Reply } from "../../policy/policy.ts";
import { comparable } from "./same_text.ts";

/** A reply, the ids that came with it, and what they decode to. */
export interface DecodedReply {
  readonly reply: Reply;
  readonly ids: readonly number[];
  readonly text: string;
}

/**
 * Whether a reply's ids say what its message says: that from their start, and behind it nothing but what ends a
 * reply. Where a server gives the thought or the calls apart from the text, that stands before or behind it.
 */
export function saysSo(
  { reply, ids, text }: DecodedReply,
  format: ChatFormat,
  tokenizer: Tokenizer,
): boolean {
  const { message, stopText } = reply;
  const plain = (text: string) => plainText(text, [...tokenizer.specialTokens, ...format.ends]);
  const heard = plain(text);
  const said = plain(messageText(message));
  if (message.tool_calls !== undefined) return heard.includes(said);
  const at = message.reasoning_content === undefined ? heard.indexOf(said) : heard.lastIndexOf(said);
  if (at < 0 || (at > 0 && message.reasoning_content === undefined)) return false;
  const ended = at + said.length;
  if (ended === heard.length) return true;
  if (!stopText || !heard.startsWith(stopText, ended)) return false;
  const stopped = ended + stopText.length;
  // a stop text may end within the last token, whose rest is then behind it
  return stopped === heard.length || plain(tokenizer.decode(ids.slice(0, -1))).length < stopped;
}

/**
 * A text without what servers leave out or change: special tokens, the bytes of a character that was cut off, and
 * spaces before punctuation and at the start, which some tokenizers take away when they decode.
 */
function plainText(text: string, specials: readonly string[]): string {
  const visible = specials.reduce((text, token) => token === "" ? text : text.replaceAll(token, ""), text);
  return comparable(visible).replace(/\ufffd+$/, "").replace(/^ /, "")
    .replaceAll(" ' ", "'").replace(/ +(?=[.?!,]|n't|'m|'s|'ve|'re)/g, "");
}
