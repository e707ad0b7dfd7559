import { splitReply } from "../chat/replies/thoughts.ts";

/** Longest answer that is checked, in characters. */
const MAX_ANSWER = 100_000;
const [OPENING, CLOSING] = ["<answer>", "</answer>"];

/** Asks for the form of the reply that {@linkcode answerOf} reads. */
export const ANSWER_FORM = "Give your final answer between <answer> and </answer>.";

/**
 * Returns the text of the last `<answer>…</answer>` outside of thoughts, without blanks around and without a fence of a
 * code block around; undefined if there is none.
 */
export function answerOf(reply: string): string | undefined {
  const visible = splitReply(reply).map(({ text, thought }) => thought === undefined ? text : "").join("");
  const end = visible.lastIndexOf(CLOSING);
  const start = end < 0 ? -1 : visible.lastIndexOf(OPENING, end);
  if (start < 0 || end - start > MAX_ANSWER) return undefined;
  return withoutFence(visible.slice(start + OPENING.length, end));
}

/** Returns a reply that gives an answer. */
export function toReply(answer: string): string {
  return `${OPENING}${answer.includes("\n") ? `\n${answer}\n` : answer}${CLOSING}`;
}

function withoutFence(text: string): string {
  const trimmed = text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
  const lines = trimmed.split("\n");
  const isFenced = lines.length >= 2 && /^\s*```[\w+-]*\s*$/.test(lines[0] ?? "") &&
    (lines.at(-1) ?? "").trim() === "```";
  return isFenced ? lines.slice(1, -1).join("\n") : trimmed.trim();
}
