import { type ReplyPart, splitReply } from "../chat/replies/thoughts.ts";
import type { History } from "../history.ts";
import { messageText } from "../message.ts";

/** Returns the text of the last assistant message, which most graders score; empty if there is none. */
export function finalReplyOf(history: History): string {
  const last = [...history].findLast(({ role }) => role === "assistant");
  return last === undefined ? "" : messageText(last);
}

/** A reply, split by the tags of thoughts and `<answer>`. */
export interface TaggedReply {
  /** Content of each `<think>…</think>`, the tag that prompts and rewards of formats name. */
  readonly thoughts: readonly string[];
  /** Content of each `<answer>…</answer>` outside of thoughts. */
  readonly answers: readonly string[];
  /** Reply without thoughts, of any tag. */
  readonly visibleText: string;
}

/**
 * Splits a reply by tags. A closing `</think>` without an opening tag ends a thought that began with the
 * reply, as for prompts that end in `<think>`. A `<think>` without a closing tag extends to the end. The other tags of
 * thoughts are read in the same way, and of a reply in channels only the answer is visible.
 */
export function parseTaggedReply(reply: string): TaggedReply {
  const parts = splitReply(reply);
  const thoughts = parts.flatMap((part) => isThink(part) ? [part.thought?.content ?? ""] : []);
  const visibleText = parts.map(({ text, thought }) => thought === undefined ? text : "").join("");
  return { thoughts, visibleText, answers: answersOf(visibleText) };
}

function isThink({ text, thought }: ReplyPart): boolean {
  return (thought?.tag === "<think>" || thought?.tag === "") && text.endsWith("</think>");
}

/** Collects the answers in linear time, even if many tags are not closed. */
function answersOf(text: string): string[] {
  const [opening, closing] = ["<answer>", "</answer>"];
  const answers: string[] = [];
  let at = 0;
  for (;;) {
    const start = text.indexOf(opening, at);
    const end = start < 0 ? -1 : text.indexOf(closing, start);
    if (end < 0) return answers;
    answers.push(text.slice(start + opening.length, end));
    at = end + closing.length;
  }
}
