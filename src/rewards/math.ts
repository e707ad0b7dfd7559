import { parseTaggedReply } from "./final_reply.ts";
import { type Grader, unscored } from "./grader.ts";
import { isSameAnswer } from "./math/same_answer.ts";
import { replyGrader } from "./reply_grader.ts";
import { tieredScore, type TieredScoreOptions } from "./tiered_score.ts";

/** Maximum length of an answer, in characters. A longer one of a reply is wrong; of a task, it gives no score. */
const MAX_CHARACTERS = 2_000;

/**
 * Returns a grader for mathematics: 1 for the right answer, 0.1 for a wrong one in `<answer>…</answer>`,
 * else 0; `null` if the task has no answer. The tiers are those of TorchRL's `MATHRewardParser`.
 *
 * The expected answer is the content of the last balanced `\boxed{…}`, or `\boxed 2`, of the task's answer,
 * or all of it; a box that cannot be read gives `null`. In a reply, the first answer block counts, or a box
 * in it; without a block, the last box; without a box, the line after the last `answer is`. Text in
 * `<think>…</think>` is ignored.
 *
 * Numbers and expressions are compared by value, exactly if they are fractions: `\frac12`, `0.5` and `1/2`
 * are equal, and so are `\sqrt{8}` and `2\sqrt2`, `x(x+1)` and `x^2+x`. Expressions with variables are
 * compared at many points, some of them negative; points where one has no value are skipped. Sets and
 * several answers may come in any order; tuples, intervals and matrices may not. Currency, degrees, per
 * cent, units and `x =` are ignored. Equations may be multiplied and have their sides swapped. Anything
 * else, such as an inequality or a word, is compared as text without spaces. Nothing is executed.
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
 * @throws {RangeError} when a reward is not a finite number.
 */
export function math(options: TieredScoreOptions = {}): Grader {
  const scoreOf = tieredScore(options);
  return replyGrader({
    name: "math",
    origin: { file: "math", factory: "math", options },
    gradeReply(reply, task) {
      const truth = truthOf(task.answer?.trim() ?? "");
      if (truth === undefined || truth === "") return null;
      if (truth.length > MAX_CHARACTERS) {
        return unscored(`the task's answer has more than ${MAX_CHARACTERS} characters`);
      }
      const { thoughts, answers: [answer], visibleText: spoken } = parseTaggedReply(reply);
      const given = answer === undefined
        ? findLastBoxed(spoken) ?? stated(spoken)
        : findLastBoxed(answer) ?? plain(answer);
      return scoreOf({
        right: given !== undefined && given.length <= MAX_CHARACTERS && isSameAnswer(given, truth),
        hasAnswer: answer !== undefined && answer.trim() !== "",
        hasThought: thoughts.length > 0,
      });
    },
  });
}

function truthOf(answer: string): string | undefined {
  return hasBox(answer) ? findLastBoxed(answer) : answer;
}

function stated(text: string): string | undefined {
  const statement = [...text.matchAll(/\banswer is\b:?/gi)].at(-1);
  return statement && plain(text.slice(statement.index + statement[0].length).split("\n", 1)[0] ?? "");
}

/** Removes Markdown emphasis. If the text begins with emphasis, only its content is the answer. */
function plain(answer: string): string {
  const text = answer.trim();
  const strong = /^(\*{1,3})([^*]+)\1/.exec(text)?.[2];
  return strong?.trim() ?? text.replace(/^\*+|(?<!\*)\*+\.?$/g, "").trim();
}

const BOX = /\\(?:boxed|fbox)\s*\{/y;
/** A box without braces, up to the next white space. A word after `\boxed` is prose about boxes. */
const BARE =
  /\\(?:boxed|fbox)(?![a-zA-Z])\s*(?![a-zA-Z]{2})((?:(?!\\(?:boxed|fbox))\\[a-zA-Z]+|[^\s$\\{}]|\{[^{}]*\}){1,200})/y;
const BEGINNING = /\\(?:boxed|fbox)(?![a-zA-Z])/;

/** Returns true if a text has a box, including one that cannot be read. */
export function hasBox(text: string): boolean {
  return BEGINNING.test(text);
}

/**
 * Returns the content of the last balanced `\boxed{…}` of a text, or of a later `\boxed 2`; `undefined` if
 * there is none.
 */
export function findLastBoxed(text: string): string | undefined {
  const open: { readonly start: number; readonly isBox: boolean }[] = [];
  let last = { start: -1, end: -1 };
  for (let at = 0; at < text.length; at++) {
    BOX.lastIndex = at;
    const box = text[at] === "\\" ? BOX.exec(text) : null;
    if (box !== null) at = BOX.lastIndex - 1;
    BARE.lastIndex = at;
    const bare = box === null && text[at] === "\\" ? BARE.exec(text) : null;
    if (bare !== null) last = { start: BARE.lastIndex - (bare[1]?.length ?? 0), end: BARE.lastIndex };
    if (box !== null || text[at] === "{") {
      open.push({ start: at + 1, isBox: box !== null });
    } else if (text[at] === "\\") {
      at++; // `\{` and `\}` are literal braces
    } else if (text[at] === "}") {
      const closed = open.pop();
      if (closed?.isBox && closed.start > last.start) last = { start: closed.start, end: at };
    }
  }
  return last.start < 0 ? undefined : text.slice(last.start, last.end).trim();
}
