import type { History } from "../history.ts";
import type { Task } from "../task.ts";

/** What a grader may look at. */
export interface GradeContext {
  readonly task: Task;
  /** The whole conversation of an episode that is over. */
  readonly history: History;
  readonly signal?: AbortSignal | undefined;
}

/** A score with what it is made of. */
export interface Score {
  /** What the episode is worth; `null` when that cannot be said, which is not the same as 0. */
  readonly score: number | null;
  /** The parts of it, by name; they are written down and not added up. */
  readonly parts?: Readonly<Record<string, number | null>>;
  /** Why there is no score, in a few words: `the task has no tests`. */
  readonly reason?: string;
}

/** No score, and why. */
export function unscored(reason: string): Score {
  return { score: null, reason };
}

/** Gives an episode a score. */
export interface Grader {
  readonly name: string;
  /** Usually from 0 to 1; `null` when no score can be given, which is not the same as 0. */
  grade(context: GradeContext): Score | number | null | Promise<Score | number | null>;
}

/**
 * A score in its whole form.
 *
 * @throws {RangeError} when it is no finite number.
 */
export function wholeScore(given: Score | number | null): Score {
  const whole = typeof given === "number" || given === null ? { score: given } : given;
  if (whole.score !== null && !Number.isFinite(whole.score)) {
    throw new RangeError(`the score must be a finite number or null: current value is ${whole.score}`);
  }
  return whole;
}
