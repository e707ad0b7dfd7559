import { finalReplyOf } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { parseTaggedReply } from "./tagged_reply.ts";

/** Options of {@linkcode patternMatch}. */
export interface PatternMatchOptions {
  /**
   * Pattern to search for. It must not backtrack exponentially on a hostile reply.
   * @default the task's answer
   */
  pattern?: RegExp | undefined;
}

/**
 * Returns a grader that scores 1 if a pattern matches in the final reply, else 0; `null` if neither the
 * options nor the task have a pattern.
 *
 * If the reply has an `<answer>…</answer>`, the first one is searched, otherwise the reply without its
 * thoughts. Grading throws a `SyntaxError` if the task's answer is not a valid pattern.
 */
export function patternMatch(options: PatternMatchOptions = {}): Grader {
  const { pattern } = options;
  return {
    name: "pattern_match",
    grade({ task, history }) {
      const wanted = pattern ?? task.answer;
      if (wanted === undefined) return null;
      const { answers: [answer], visibleText: spoken } = parseTaggedReply(finalReplyOf(history));
      return freshPattern(wanted).test(answer ?? spoken) ? 1 : 0;
    },
  };
}

/** Returns a pattern without search state. */
function freshPattern(pattern: RegExp | string): RegExp {
  if (typeof pattern === "string") return new RegExp(pattern, "u");
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
}
