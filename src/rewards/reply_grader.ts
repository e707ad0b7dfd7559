import type { Task } from "../task.ts";
import { finalReplyOf } from "./final_reply.ts";
import type { GradeContext, Grader, Score } from "./grader.ts";

/** Part of a task that a {@linkcode ReplyGrading} reads. */
export type GradedTask = Pick<Task, "id" | "answer" | "fields">;

/** The function that makes a grader, by which a worker makes the same grader. */
export interface GraderOrigin {
  /** Name of the file, without extension. */
  readonly file: string;
  /** Name of the exported function. */
  readonly factory: string;
  /** Argument of the factory, which `structuredClone` can copy. */
  readonly options: unknown;
}

/** Grading that reads only the final reply and the task, so that a worker can grade. */
export interface ReplyGrading {
  readonly origin: GraderOrigin;
  /** Names of the task's fields that the grader reads. */
  readonly fields?: readonly string[] | undefined;
  /**
   * Loads the data for grading a task, or without a task the data for any task. Called before each grade; returns
   * `undefined` if all is loaded.
   */
  prepare?(task?: GradedTask): Promise<void> | undefined;
  /** Scores a reply. */
  gradeReply(reply: string, task: GradedTask): Score | number | null;
}

type Grade = Grader["grade"];

/** Returns a grader that reads only the final reply and the task. A {@linkcode GraderPool} can run it in a worker. */
export function replyGrader({ name, ...grading }: { readonly name: string } & ReplyGrading): Grader {
  const gradeNow = ({ task, history }: GradeContext) => grading.gradeReply(finalReplyOf(history), task);
  const grade: Grade = (context) =>
    grading.prepare?.(context.task)?.then(() => gradeNow(context)) ?? gradeNow(context);
  return { name, grade: Object.assign(grade, { grading }) };
}

/** Returns the grader to use in place of another grader. */
export type GraderChange = (grader: Grader) => Grader;

/** Returns a grader that combines others, as `rubric` does, with each of them changed; `undefined` for any other. */
export function mapGraders({ grade }: Grader, change: GraderChange): Grader | undefined {
  return (grade as Grade & { mapGraders?(change: GraderChange): Grader }).mapGraders?.(change);
}

/**
 * Returns how a grader of {@linkcode replyGrader} grades; `undefined` for any other grader, and for a copy with another
 * `grade`.
 */
export function replyGradingOf({ grade }: Grader): ReplyGrading | undefined {
  return (grade as Grade & { readonly grading?: ReplyGrading }).grading;
}
