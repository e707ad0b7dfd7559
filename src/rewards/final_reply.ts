import type { History } from "../history.ts";
import { messageText } from "../message.ts";

/** Returns the text of the last assistant message, which most graders score; empty if there is none. */
export function finalReplyOf(history: History): string {
  const last = [...history].findLast(({ role }) => role === "assistant");
  return last === undefined ? "" : messageText(last);
}

/** A reply, split by the tags `<think>` and `<answer>`. */
export interface TaggedReply {
  /** Content of each `<think>…</think>`. */
  readonly thoughts: readonly string[];
  /** Content of each `<answer>…</answer>` outside of thoughts. */
  readonly answers: readonly string[];
  /** Reply without its thoughts. */
  readonly visibleText: string;
}

interface Blocks {
  readonly inside: readonly string[];
  readonly outside: string;
}

/**
 * Splits a reply by its tags. A closing `</think>` without an opening tag ends a thought that began with the
 * reply, as for prompts that end in `<think>`. A `<think>` without a closing tag extends to the end.
 */
export function parseTaggedReply(reply: string): TaggedReply {
  const first = reply.indexOf("</think>");
  const opened = first >= 0 && !reply.slice(0, first).includes("<think>") ? `<think>${reply}` : reply;
  const { inside: thoughts, outside } = blocksOf(opened, "think");
  const [spoken = ""] = outside.split("<think>", 1);
  return { thoughts, visibleText: spoken, answers: blocksOf(spoken, "answer").inside };
}

/** Collects the blocks of a tag in linear time, even if many tags are not closed. */
function blocksOf(text: string, tag: string): Blocks {
  const [opening, closing] = [`<${tag}>`, `</${tag}>`];
  const inside: string[] = [];
  let outside = "";
  let at = 0;
  for (;;) {
    const start = text.indexOf(opening, at);
    const end = start < 0 ? -1 : text.indexOf(closing, start);
    if (end < 0) return { inside, outside: outside + text.slice(at) };
    inside.push(text.slice(start + opening.length, end));
    outside += text.slice(at, start);
    at = end + closing.length;
  }
}
