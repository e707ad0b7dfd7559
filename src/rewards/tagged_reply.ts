/** A reply taken apart by the tags that models are trained to use. */
export interface TaggedReply {
  /** What stands in each `<think>…</think>`. */
  readonly thoughts: readonly string[];
  /** What stands in each `<answer>…</answer>` outside of the thoughts. */
  readonly answers: readonly string[];
  /** The reply without its thoughts. */
  readonly spoken: string;
}

interface Blocks {
  readonly inside: readonly string[];
  readonly outside: string;
}

/**
 * Takes a reply apart. A thought that is only closed began with the reply, as prompts that end in `<think>` have
 * it; one that is only opened goes on to the end.
 */
export function taggedReply(reply: string): TaggedReply {
  const first = reply.indexOf("</think>");
  const opened = first >= 0 && !reply.slice(0, first).includes("<think>") ? `<think>${reply}` : reply;
  const { inside: thoughts, outside } = blocksOf(opened, "think");
  const [spoken = ""] = outside.split("<think>", 1);
  return { thoughts, spoken, answers: blocksOf(spoken, "answer").inside };
}

/** Reads once through the text, however many tags nobody closes. */
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
