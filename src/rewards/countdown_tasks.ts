import type { Task } from "../task.ts";

/** How {@linkcode countdownTasks} makes puzzles. */
export interface CountdownTasksOptions {
  /** The same seed gives the same puzzles; 0 unless given. */
  seed?: number | undefined;
  /** How many puzzles; without end unless given. */
  count?: number | undefined;
  /** How many numbers a puzzle has; 4 unless given. */
  numCount?: number | undefined;
  /** The largest of them; 100 unless given. */
  maxNumber?: number | undefined;
  /** The largest target, at least `maxNumber`; 1000 unless given. */
  maxTarget?: number | undefined;
}

/** An expression and its value. */
interface Term {
  readonly text: string;
  readonly value: number;
}

/** A whole number from 1 to `max`. */
type Draw = (max: number) => number;

const ATTEMPTS = 200;

/**
 * Makes puzzles of Countdown that can be solved: each was made from an expression over all of its numbers.
 *
 * A task's `answer` is what the grader `countdown` reads, `target=T, numbers=a,b,…`; its `replies` hold one
 * solution, which a scripted policy plays.
 *
 * @throws {RangeError} when an option is not a whole number in its range.
 */
export function* countdownTasks(options: CountdownTasksOptions = {}): Generator<Task> {
  const { seed = 0, count = Infinity, numCount = 4, maxNumber = 100, maxTarget = 1_000 } = options;
  check("seed", seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  if (count !== Infinity) check("count", count, 0, Number.MAX_SAFE_INTEGER);
  check("numCount", numCount, 1, 20);
  check("maxNumber", maxNumber, 1, 1_000_000);
  check("maxTarget", maxTarget, maxNumber, Number.MAX_SAFE_INTEGER);
  for (let index = 1; index <= count; index++) {
    const draw = drawing(seed, index);
    const numbers = Array.from({ length: numCount }, () => draw(maxNumber));
    yield taskOf(`countdown:${seed}:${index}`, numbers, solution(numbers, maxTarget, draw));
  }
}

function check(name: string, value: number, min: number, max: number): void {
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

/** An expression over all of the numbers, or over the first alone when chance finds none. */
function solution(numbers: readonly number[], maxTarget: number, draw: Draw): Term {
  const terms = numbers.map((value) => ({ text: String(value), value }));
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const found = combined(terms, draw);
    if (found.value <= maxTarget) return { ...found, text: found.text.replace(/^\((.*)\)$/, "$1") };
  }
  return terms[0] ?? { text: "0", value: 0 };
}

/** Joins two terms at a time until one is left. */
function combined(terms: readonly Term[], draw: Draw): Term {
  const left = [...terms];
  for (;;) {
    const [first] = left.splice(draw(left.length) - 1, 1);
    const [second] = left.splice(draw(left.length) - 1, 1);
    if (first === undefined || second === undefined) return first ?? { text: "0", value: 0 };
    const choices = joined(first, second);
    left.push(choices[draw(choices.length) - 1] ?? first);
  }
}

/** What two terms can make by one operation without leaving the whole numbers above 0. */
function joined(first: Term, second: Term): Term[] {
  const [large, small] = first.value >= second.value ? [first, second] : [second, first];
  const made = [
    { text: `(${first.text} + ${second.text})`, value: first.value + second.value },
    { text: `(${first.text} * ${second.text})`, value: first.value * second.value },
    { text: `(${large.text} - ${small.text})`, value: large.value - small.value },
    { text: `(${large.text} / ${small.text})`, value: large.value / small.value },
  ];
  return made.filter(({ value }) => Number.isSafeInteger(value) && value > 0);
}

/** Draws from a generator of its own for each puzzle: a mix of seed and index, then Weyl steps, hashed (splitmix). */
function drawing(seed: number, index: number): Draw {
  let state = hashed(hashed(seed % 2 ** 32) ^ hashed(Math.trunc(seed / 2 ** 32)) ^ hashed(~index));
  return (max) => {
    state = (state + 0x9e3779b9) | 0;
    return 1 + Math.floor(hashed(state) / 2 ** 32 * max);
  };
}

/** 32 bits of which each depends on each of the given ones. */
function hashed(bits: number): number {
  let mixed = bits | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
