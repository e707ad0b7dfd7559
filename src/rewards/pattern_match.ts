import { finalReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { taggedReply } from "./tagged_reply.ts";

/** What {@linkcode patternMatch} looks for. */
export interface PatternMatchOptions {
  /** The task's answer is the pattern unless one is given. It must not backtrack without end on a hostile reply. */
  pattern?: RegExp | undefined;
}

/**
 * Scores 1 when a pattern is found in the final reply, else 0; `null` when neither the options nor the task has one.
 *
 * Where the reply has an `<answer>…</answer>`, its first one is searched, else all of it but its thoughts. Grading
 * throws a `SyntaxError` when the task's answer is no pattern.
 */
export function patternMatch(options: PatternMatchOptions = {}): Grader {
  const { pattern } = options;
  return {
    name: "pattern_match",
    grade({ task, history }) {
      const wanted = pattern ?? task.answer;
      if (wanted === undefined) return null;
      const { answers: [answer], spoken } = taggedReply(finalReply(history));
      return freshPattern(wanted).test(answer ?? spoken) ? 1 : 0;
    },
  };
}

/** A pattern that starts to search at the beginning, whatever was searched before. */
function freshPattern(pattern: RegExp | string): RegExp {
  if (typeof pattern === "string") return new RegExp(pattern, "u");
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
}
