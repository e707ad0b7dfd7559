import type { Message } from "../message.ts";
import { parseToolTags } from "./tool_tags.ts";

const START = "<|im_start|>";
const END = /<\|im_end\|>|<\|endoftext\|>/g;

/** Options of {@linkcode parseChatml}. */
export interface ParseChatmlOptions {
  /**
   * Omits a last turn without content, which is a generation prompt.
   *
   * @default false
   */
  dropEmptyTail?: boolean | undefined;
}

/**
 * Parses `<|im_start|>role` … `<|im_end|>` blocks; the last one may be cut off. Text between blocks is
 * ignored.
 *
 * @throws {SyntaxError} if there is no block.
 */
export function parseChatml(text: string, options: ParseChatmlOptions = {}): Message[] {
  const messages: Message[] = [];
  let at = text.indexOf(START);
  while (at !== -1) {
    const role = at + START.length;
    const line = text.indexOf("\n", role);
    if (line === -1) break;
    END.lastIndex = line + 1;
    const end = END.exec(text);
    const content = text.slice(line + 1, end?.index).trim();
    const isCut = end === null;
    if (!isCut || content !== "" || !options.dropEmptyTail) {
      const message = { role: text.slice(role, line).trim(), content, ...parseToolTags(content) };
      messages.push(isCut ? { ...message, is_complete: false } : message);
    }
    at = isCut ? -1 : text.indexOf(START, END.lastIndex);
  }
  if (messages.length > 0) return messages;
  throw new SyntaxError(
    `Couldn't get a single item out of text ${text}. A common cause if that special tokens should not be ` +
      "omitted, did you set include_stop_str_in_output/skip_special_tokens?",
  );
}
