import { requireKnownOptions } from "../options.ts";
import type { Task } from "../task.ts";

/** Options of {@linkcode countdownTasks}. */
export interface CountdownTasksOptions {
  /**
   * Random seed. The same seed gives the same puzzles.
   * @default 0
   */
  seed?: number | undefined;
  /**
   * Number of puzzles.
   * @default Infinity
   */
  count?: number | undefined;
  /**
   * Number of numbers in a puzzle.
   * @default 4
   */
  numCount?: number | undefined;
  /**
   * Largest number in a puzzle.
   * @default 100
   */
  maxNumber?: number | undefined;
  /**
   * Largest target; at least `maxNumber`.
   * @default 1_000
   */
  maxTarget?: number | undefined;
}

/** An expression and the value. */
interface Term {
  readonly text: string;
  readonly value: number;
}

/** Returns a random integer from 1 to `max`. */
type Draw = (max: number) => number;

const ATTEMPTS = 200;

/**
 * Generates Countdown puzzles. Each puzzle has a solution, because the puzzle is derived from an expression over all
 * numbers of the puzzle.
 *
 * A task's `answer` has the form that the grader `countdown` reads, `target=T, numbers=a,b,…`. The `replies`
 * contain a solution, for use with a scripted policy.
 *
 * @throws {RangeError} when an option is not an integer in range.
 */
export function* countdownTasks(options: CountdownTasksOptions = {}): Generator<Task> {
  requireKnownOptions("call countdownTasks", options, {
    seed: true,
    count: true,
    numCount: true,
    maxNumber: true,
    maxTarget: true,
  });
  const { seed = 0, count = Infinity, numCount = 4, maxNumber = 100, maxTarget = 1_000 } = options;
  requireInteger("seed", seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  if (count !== Infinity) requireInteger("count", count, 0, Number.MAX_SAFE_INTEGER);
  requireInteger("numCount", numCount, 1, 20);
  requireInteger("maxNumber", maxNumber, 1, 1_000_000);
  requireInteger("maxTarget", maxTarget, maxNumber, Number.MAX_SAFE_INTEGER);
  for (let index = 1; index <= count; index++) {
    const draw = createDraw(seed, index);
    const numbers = Array.from({ length: numCount }, () => draw(maxNumber));
    yield taskOf(`countdown:${seed}:${index}`, numbers, solution(numbers, maxTarget, draw));
  }
}

function requireInteger(name: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new RangeError(
    `Cannot make puzzles as '${name}' must be a whole number from ${min} to ${max}: current value is ${value}`,
  );
}

function taskOf(id: string, numbers: readonly number[], { text, value }: Term): Task {
  const query =
    `Using the numbers [${numbers.join(", ")}], create an arithmetic expression that equals ${value}. ` +
    "You may use each number at most once. Only use +, -, *, / and parentheses.";
  return {
    id,
    query,
    answer: `target=${value}, numbers=${numbers.join(",")}`,
    replies: [`<answer>${text}</answer>`],
    fields: { target: value, numbers },
  };
}

/**
 * Returns a random expression over all numbers, or the first number alone if none of the attempts is in
 * range.
 */
function solution(numbers: readonly number[], maxTarget: number, draw: Draw): Term {
  const terms = numbers.map((value) => ({ text: String(value), value }));
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const candidate = combineAll(terms, draw);
    if (candidate.value <= maxTarget) {
      return { ...candidate, text: candidate.text.replace(/^\((.*)\)$/, "$1") };
    }
  }
  return terms[0] ?? { text: "0", value: 0 };
}

/** Joins two random terms at a time until a single term is left. */
function combineAll(terms: readonly Term[], draw: Draw): Term {
  const remaining = [...terms];
  for (;;) {
    const [first] = remaining.splice(draw(remaining.length) - 1, 1);
    const [second] = remaining.splice(draw(remaining.length) - 1, 1);
    if (first === undefined || second === undefined) return first ?? { text: "0", value: 0 };
    const choices = combineTwo(first, second);
    remaining.push(choices[draw(choices.length) - 1] ?? first);
  }
}

/** Returns the results of an operation on two terms that are integers above 0. */
function combineTwo(first: Term, second: Term): Term[] {
  const [large, small] = first.value >= second.value ? [first, second] : [second, first];
  const results = [
    { text: `(${first.text} + ${second.text})`, value: first.value + second.value },
    { text: `(${first.text} * ${second.text})`, value: first.value * second.value },
    { text: `(${large.text} - ${small.text})`, value: large.value - small.value },
    { text: `(${large.text} / ${small.text})`, value: large.value / small.value },
  ];
  return results.filter(({ value }) => Number.isSafeInteger(value) && value > 0);
}

/** Returns the random generator of a puzzle: a mix of seed and index, then hashed Weyl steps (splitmix). */
function createDraw(seed: number, index: number): Draw {
  let state = mixBits(mixBits(seed % 2 ** 32) ^ mixBits(Math.trunc(seed / 2 ** 32)) ^ mixBits(~index));
  return (max) => {
    state = (state + 0x9e3779b9) | 0;
    return 1 + Math.floor(mixBits(state) / 2 ** 32 * max);
  };
}

/** Mixes 32 bits so that each output bit depends on each input bit. */
function mixBits(bits: number): number {
  let mixed = bits | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
