import type { Message } from "../message.ts";
import { toolTags } from "./tool_tags.ts";

const START = "<|im_start|>";
const END = /<\|im_end\|>|<\|endoftext\|>/g;

/** How {@linkcode parseChatml} treats what a family writes in a way of its own. */
export interface ParseChatmlOptions {
  /** Leaves out a last turn of which nothing is said yet: a generation prompt. */
  dropEmptyTail?: boolean | undefined;
}

/**
 * Reads `<|im_start|>role` … `<|im_end|>` blocks, and a last one that was cut off. What stands between blocks is
 * passed over.
 *
 * @throws {SyntaxError} when there is no block.
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
    const cut = end === null;
    if (!cut || content !== "" || !options.dropEmptyTail) {
      const message = { role: text.slice(role, line).trim(), content, ...toolTags(content) };
      messages.push(cut ? { ...message, is_complete: false } : message);
    }
    at = cut ? -1 : text.indexOf(START, END.lastIndex);
  }
  if (messages.length > 0) return messages;
  throw new SyntaxError(
    `Couldn't get a single item out of text ${text}. A common cause if that special tokens should not be ` +
      "omitted, did you set include_stop_str_in_output/skip_special_tokens?",
  );
}
