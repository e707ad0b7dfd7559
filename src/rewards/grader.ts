import type { History } from "../history.ts";
import type { Task } from "../task.ts";
import type { CodeCall } from "../tools/tool_result.ts";

/** Input of a grader. */
export interface GradeContext {
  readonly task: Task;
  /** The complete conversation of a finished episode. */
  readonly history: History;
  /**
   * Calls of tools that the code of the episode made, in their order.
   *
   * @default none
   */
  readonly codeCalls?: readonly CodeCall[] | undefined;
  /**
   * For whom the grade is, in a program that grades for several. Programs under test use interpreters of their owner
   * where the pool has reset mode `owner`.
   */
  readonly owner?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A score with parts. */
export interface Score {
  /** Score of the episode; `null` if no score could be computed, which is different from 0. */
  readonly score: number | null;
  /** Components of the score, by name. They are recorded and not added up. */
  readonly parts?: Readonly<Record<string, number | null>>;
  /** Short reason why there is no score: `the task has no tests`. */
  readonly reason?: string;
}

/** Returns a missing score with the reason. */
export function unscored(reason: string): Score {
  return { score: null, reason };
}

/** Scores finished episodes. */
export interface Grader {
  readonly name: string;
  /** Returns the score, usually from 0 to 1; `null` if no score can be computed, which is different from 0. */
  grade(context: GradeContext): Score | number | null | Promise<Score | number | null>;
}

/**
 * Returns a grader's result as a {@linkcode Score}.
 *
 * @throws {RangeError} when the score is not a finite number.
 */
export function toScore(result: Score | number | null): Score {
  const score = typeof result === "number" || result === null ? { score: result } : result;
  if (score.score !== null && !Number.isFinite(score.score)) {
    throw new RangeError(`the score must be a finite number or null: current value is ${score.score}`);
  }
  return score;
}
