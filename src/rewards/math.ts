import { findJoinedBoxes, findLastBoxed, hasBox } from "./boxes.ts";
import { extractAnswer, MATHS_EXTRACTION, onlyNumberOf, plain } from "./extract_answer.ts";
import { parseTaggedReply } from "./final_reply.ts";
import { type Grader, unscored } from "./grader.ts";
// @ts-types="./math/same_answer.d.ts"
import { isSameAnswer } from "./math/same_answer.ts";
import { singleBackslashes } from "./math/backslashes.ts";
import { foldUnicode } from "./math/unicode.ts";
import { foldNumberWords, hasOtherMeaning } from "./math/words.ts";
import {
  type MathVerifyGrader,
  type MathVerifyOptions,
  verifiedMath,
} from "./math/math_verify/verified_math.ts";
import { replyGrader } from "./reply_grader.ts";
import { requireKnownOptions } from "../options.ts";
import { tieredScore, type TieredScoreOptions } from "./tiered_score.ts";

/**
 * Maximum length of an answer, in characters. A longer answer of a reply is wrong; a longer answer of a task gives no
 * score.
 */
const MAX_CHARACTERS = 2_000;

/** Options of {@linkcode math}. */
export interface MathOptions extends TieredScoreOptions {
  /** No verifier: the grader compares answers itself. */
  verifier?: undefined;
}

/**
 * Returns a grader for mathematics: 1 for the right answer, 0.1 for a wrong answer in `<answer>…</answer>`, else 0; `null`
 * if the task has no answer. The tiers come from TorchRL's `MATHRewardParser`.
 *
 * The expected answer is the content of the last balanced `\boxed{…}`, or `\boxed 2`, of the task's answer, or the whole
 * answer; an unreadable box gives `null`. In a reply, the first answer block counts, or a box or statement in the block.
 * Without a block, the first of these counts: the last box, with all boxes that `and` or a comma joins, unless `final
 * answer is` follows; the answer after the last `####`, `answer is` or `Answer:`; display maths or bold text at the end;
 * the last maths or fraction of the last line that has any; the last number. An answer that the reply denies or names with
 * others scores 0. Text in `<think>…</think>` is ignored.
 *
 * Numbers and expressions are compared by value, exactly if they are fractions: `\frac12`, `0.5` and `1/2` are equal, and
 * so are `\sqrt{8}` and `2\sqrt2`, `x(x+1)` and `x^2+x`. Expressions with variables are compared at many points, some of
 * them negative; points where an expression has no value are skipped. `\tan^{-1} x` is the inverse function. Sets and
 * several answers may come in any order; tuples, intervals and matrices may not. `x = 1, y = 2` is the point `(1, 2)`, by
 * the usual order of names. Currency, degrees, per cent, units and `x =` may be missing; two known units must agree.
 * Equations and inequalities may be multiplied and have their sides swapped, but an unsolved equation is wrong for `x =
 * 5`; `2 \le x < 5` is `[2,5)`. A number with five decimals or more is a rounded exact value. A choice with a text is
 * right for the letter and for the text, but a reply that names two choices, as `(A) B`, for neither. Bounds such as `less
 * than 5` are no numbers, and AM and PM no units. `f(2)` is no product. Anything else, such as a word, is compared as text
 * without spaces. A reply that ends inside the last box has no answer. Nothing is executed.
 *
 * With `verifier: "math-verify"`, the library math-verify 0.9.0 finds and compares the answers, with the library's
 * defaults, in the grader's own sandboxes: the verdicts decide between the tiers. The library reads the first answer
 * block, or else the reply without thoughts. An expected answer or answer block without mathematics between dollars or the
 * like is read as the content of a `\boxed{…}`. A comparison that exceeds time or memory is `null`, and so is a comparison
 * whose expected answer the library cannot parse. The grader must be disposed. The wheels are downloaded once, by `deno
 * task fetch-math-verify`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { History, math } from "@paddock/paddock";
 *
 * const history = History.fromChats([{ role: "assistant", content: "<answer>\\sqrt{8}</answer>" }]);
 * const task = { id: "1", query: "Simplify 2 * sqrt(2).", answer: "\\boxed{2\\sqrt2}" };
 * const score = await math().grade({ task, history });
 * assertEquals(score, {
 *   score: 1,
 *   parts: { reward_answer: 1, reward_think: 0, reward_right: 1, success: 1 },
 * });
 * ```
 *
 * @example Compare by math-verify
 * ```ts
 * import { type GradeContext, math } from "@paddock/paddock";
 *
 * async function gradeByLibrary(context: GradeContext) {
 *   await using grader = math({ verifier: "math-verify" });
 *   return await grader.grade(context);
 * }
 * ```
 *
 * @throws {RangeError} when a reward is not a finite number.
 * @throws {Deno.errors.NotFound} when the verifier's wheels are missing.
 */
export function math(options: MathVerifyOptions): MathVerifyGrader;
export function math(options?: MathOptions): Grader;
export function math(options: MathOptions | MathVerifyOptions = {}): Grader {
  if (options.verifier === "math-verify") {
    requireKnownOptions("call math", options, {
      ...OPTIONS,
      cacheDir: true,
      size: true,
      timeoutMs: true,
      onBuild: true,
    });
    return verifiedMath(options);
  }
  requireKnownOptions("call math", options, OPTIONS);
  const scoreOf = tieredScore(options);
  return replyGrader({
    name: "math",
    origin: { file: "math", factory: "math", options },
    gradeReply(reply, task) {
      const truth = truthOf(singleBackslashes(task.answer?.trim() ?? ""));
      if (truth === undefined || truth === "") return null;
      if (truth.length > MAX_CHARACTERS) {
        return unscored(`the task's answer has more than ${MAX_CHARACTERS} characters`);
      }
      const { thoughts, answers: [answer], visibleText: spoken } = parseTaggedReply(
        foldUnicode(singleBackslashes(reply)),
      );
      const given = answer === undefined
        ? extractAnswer(spoken, MATHS_EXTRACTION)
        : extractAnswer(answer, ["boxes", "stated"]) ?? plain(answer);
      return scoreOf({
        right: given !== undefined && given.length <= MAX_CHARACTERS && isRight(given, truth),
        hasAnswer: answer !== undefined && answer.trim() !== "",
        hasThought: thoughts.length > 0,
      });
    },
  });
}

function isRight(given: string, truth: string): boolean {
  if (isSameAnswer(given, truth)) return true;
  const number = hasOtherMeaning(given, truth) ? undefined : onlyNumberOf(foldNumberWords(given));
  return number !== undefined && /^-?[\d.,]{1,30}$/.test(truth.replace(/\$/g, "")) &&
    isSameAnswer(number, truth);
}

function truthOf(answer: string): string | undefined {
  return hasBox(answer) ? findJoinedBoxes(answer) ?? findLastBoxed(answer) : answer;
}

/** Names of the options without a verifier. */
const OPTIONS: Readonly<Record<keyof MathOptions, true>> = {
  verifier: true,
  correctReward: true,
  formatReward: true,
};
