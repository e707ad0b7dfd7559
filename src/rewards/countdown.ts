import { requireKnownOptions } from "../options.ts";
import { type Arithmetic, parseArithmetic } from "../policy/arithmetic.ts";
import { extractAnswer } from "./extract_answer.ts";
import { parseTaggedReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { replyGrader } from "./reply_grader.ts";
import { tieredScore, type TieredScoreOptions } from "./tiered_score.ts";

/** A puzzle: the numbers to use and the target to reach. */
interface Puzzle {
  readonly target: number;
  readonly numbers: readonly number[];
}

/** Tolerance for rounding errors. */
const TOLERANCE = 1e-9;
/** Maximum length of an expression, in characters. */
const MAX_CHARACTERS = 1_000;
const EXPRESSION = /^[\d\s+\-*/().]+$/;
const TRUTH = /^\s*target\s*=\s*(-?\d+)\s*,\s*numbers\s*=\s*\[?\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]?\s*$/;

/**
 * Returns a grader for Countdown puzzles. The grader reads the expression in the first `<answer>…</answer>` of the final
 * reply and scores 1 if the expression reaches the target, 0.1 if not, 0 if there is no answer, and `null` if the task has
 * no answer. A reply without a block scores 1 if the last box, or the text after the last `####`, `answer is` or
 * `Answer:`, reaches the target, else 0. The task's answer has the form `target=112, numbers=25,3,4`.
 *
 * An expression consists of integers, `+ - * /` and parentheses. An expression is parsed, never executed, and compared
 * within 1e-9. Each number may occur at most as often as in the puzzle.
 *
 * Grading throws a `SyntaxError` if the task's answer has another form.
 *
 * @throws {RangeError} when a reward is not a finite number.
 */
export function countdown(options: TieredScoreOptions = {}): Grader {
  requireKnownOptions("call countdown", options, { correctReward: true, formatReward: true });
  const scoreOf = tieredScore(options);
  return replyGrader({
    name: "countdown",
    origin: { file: "countdown", factory: "countdown", options },
    gradeReply(reply, task) {
      if (task.answer === undefined) return null;
      const puzzle = parsePuzzle(task.answer);
      const { thoughts, answers: [answer], visibleText } = parseTaggedReply(reply);
      const expression = answer ?? extractAnswer(visibleText, ["box", "stated"]);
      return scoreOf({
        right: expression !== undefined && solves(expression, puzzle),
        hasAnswer: answer !== undefined && answer.trim() !== "",
        hasThought: thoughts.length > 0,
      });
    },
  });
}

function parsePuzzle(answer: string): Puzzle {
  const [, target = "", numbers = ""] = TRUTH.exec(answer) ?? [];
  if (numbers !== "") return { target: Number(target), numbers: numbers.split(",").map(Number) };
  throw new SyntaxError(
    `Cannot grade puzzle as its answer must be 'target=T, numbers=a,b,…': current value is '${answer}'`,
  );
}

function solves(answer: string, { target, numbers }: Puzzle): boolean {
  const expression = answer.trim();
  if (expression.length > MAX_CHARACTERS || !EXPRESSION.test(expression)) return false;
  const parsed = parseArithmetic(expression);
  if (parsed === null || Math.abs(parsed.value - target) >= TOLERANCE) return false;
  return isWithin(numbersOf(parsed), numbers);
}

function numbersOf(parsed: Arithmetic): number[] {
  switch (parsed.kind) {
    case "number":
      return [parsed.value];
    case "negative":
      return parsed.operand.kind === "number" ? [parsed.value] : numbersOf(parsed.operand);
    case "binary":
      return [...numbersOf(parsed.left), ...numbersOf(parsed.right)];
  }
}

/** Returns true if no number is used more often than given; `-2` uses a -2, or else a 2. */
function isWithin(used: readonly number[], available: readonly number[]): boolean {
  const remaining = [...available];
  return used.every((number) => {
    const exact = remaining.indexOf(number);
    const at = exact < 0 && number < 0 ? remaining.indexOf(-number) : exact;
    if (at >= 0) remaining.splice(at, 1);
    return at >= 0;
  });
}
