import { requireKnownOptions } from "../options.ts";
import { parseTaggedReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { findNumbers, findStatedNumber, isEqualNumber } from "./plain_number.ts";
import { replyGrader } from "./reply_grader.ts";

/**
 * Returns a grader that scores 1 if the final reply equals the task's answer, else 0; `null` if the task has
 * no answer.
 *
 * If the reply has an `<answer>…</answer>`, the first block is compared, otherwise the reply without
 * thoughts. Surrounding white space and Unicode composition are ignored; case is not.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { exactMatch, History } from "@paddock/paddock";
 *
 * const history = History.fromChats([{ role: "assistant", content: "<answer>Paris</answer>" }]);
 * const task = { id: "1", query: "What is the capital of France?", answer: "Paris" };
 * assertEquals(await exactMatch().grade({ task, history }), 1);
 * ```
 */
export function exactMatch(): Grader {
  return replyGrader({
    name: "exact_match",
    origin: { file: "text_match", factory: "exactMatch", options: undefined },
    gradeReply(reply, task) {
      if (task.answer === undefined) return null;
      const { answers: [answer], visibleText: spoken } = parseTaggedReply(reply);
      return normalize(answer ?? spoken) === normalize(task.answer) ? 1 : 0;
    },
  });
}

function normalize(text: string): string {
  return text.trim().normalize("NFC");
}

/** Options of {@linkcode patternMatch}. */
export interface PatternMatchOptions {
  /**
   * Pattern to search for. A pattern that backtracks exponentially blocks the thread on a hostile reply, unless a
   * {@linkcode GraderPool} runs the grader.
   */
  pattern: RegExp;
}

/**
 * Returns a grader that scores 1 if a pattern matches in the final reply, else 0.
 *
 * If the reply has an `<answer>…</answer>`, the first block is searched, otherwise the reply without
 * thoughts. The pattern comes from the program, never from a task: a data set could contain a pattern that takes
 * forever.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { History, patternMatch } from "@paddock/paddock";
 *
 * const history = History.fromChats([{ role: "assistant", content: "<answer>2026-11-22</answer>" }]);
 * const grader = patternMatch({ pattern: /^\d{4}-\d\d-\d\d$/ });
 * assertEquals(await grader.grade({ task: { id: "1", query: "Which day is it?" }, history }), 1);
 * ```
 */
export function patternMatch(options: PatternMatchOptions): Grader {
  requireKnownOptions("call patternMatch", options, { pattern: true });
  const { pattern } = options;
  const stateless = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
  return replyGrader({
    name: "pattern_match",
    origin: { file: "text_match", factory: "patternMatch", options: { pattern } },
    gradeReply(reply) {
      const { answers: [answer], visibleText } = parseTaggedReply(reply);
      return stateless.test(answer ?? visibleText) ? 1 : 0;
    },
  });
}

/**
 * Returns a grader that scores 1 if the number in the final reply equals the number in the task's answer, else
 * 0; `null` if the task's answer has no number.
 *
 * The number of a reply is the first number after the last `####` or `answer is`, else the last number. Text in
 * `<think>…</think>` is ignored. `1,000`, `$1000`, `1000.00` and `1000%` are equal; rounding errors are
 * tolerated.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { History, numberMatch } from "@paddock/paddock";
 *
 * const history = History.fromChats([{ role: "assistant", content: "3 boxes of 6 are 18 eggs." }]);
 * const task = { id: "1", query: "How many eggs are in 3 boxes of 6?", answer: "18" };
 * assertEquals(await numberMatch().grade({ task, history }), 1);
 * ```
 */
export function numberMatch(): Grader {
  return replyGrader({
    name: "number_match",
    origin: { file: "text_match", factory: "numberMatch", options: undefined },
    gradeReply(reply, task) {
      const expected = findNumbers(task.answer ?? "").at(-1);
      if (expected === undefined) return null;
      const { visibleText: spoken } = parseTaggedReply(reply);
      const actual = findStatedNumber(spoken) ?? findNumbers(spoken).at(-1);
      return actual !== undefined && isEqualNumber(actual, expected) ? 1 : 0;
    },
  });
}
