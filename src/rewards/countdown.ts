import { type Arithmetic, parseArithmetic } from "../policy/arithmetic.ts";
import { finalReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";
import { ladder, type LadderOptions } from "./ladder.ts";
import { taggedReply } from "./tagged_reply.ts";

/** A puzzle: numbers, and what they are to make. */
interface Puzzle {
  readonly target: number;
  readonly numbers: readonly number[];
}

/** What floating point may lose. */
const TOLERANCE = 1e-9;
/** Longer than any expression of numbers that each stand there once. */
const MAX_CHARACTERS = 1_000;
const EXPRESSION = /^[\d\s+\-*/().]+$/;
const TRUTH = /^\s*target\s*=\s*(-?\d+)\s*,\s*numbers\s*=\s*\[?\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]?\s*$/;

/**
 * Scores the expression in a reply's first `<answer>…</answer>`: 1 when it makes the target of a Countdown puzzle,
 * 0.1 when it does not, 0 without one; `null` when the task has no answer. The task's answer reads
 * `target=112, numbers=25,3,4`.
 *
 * An expression has whole numbers, `+ - * /` and parentheses; it is parsed, never run, and compared to within 1e-9.
 * Each number may stand in it as often as it is given.
 *
 * Grading throws a `SyntaxError` when the task's answer is not of that form.
 *
 * @throws {RangeError} when a reward is no finite number.
 */
export function countdown(options: LadderOptions = {}): Grader {
  const scoreOf = ladder(options);
  return {
    name: "countdown",
    grade({ task, history }) {
      if (task.answer === undefined) return null;
      const puzzle = parsePuzzle(task.answer);
      const { thoughts, answers: [answer] } = taggedReply(finalReply(history));
      return scoreOf({
        right: answer !== undefined && solves(answer, puzzle),
        hasAnswer: answer !== undefined && answer.trim() !== "",
        hasThought: thoughts.length > 0,
      });
    },
  };
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

/** Whether each number is used no more often than it is given; `-2` uses a -2, or else a 2. */
function isWithin(used: readonly number[], given: readonly number[]): boolean {
  const left = [...given];
  return used.every((number) => {
    const own = left.indexOf(number);
    const at = own < 0 && number < 0 ? left.indexOf(-number) : own;
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}
