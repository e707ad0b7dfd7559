import type { History } from "../history.ts";
import type { Task } from "../task.ts";

/** What a grader may look at. */
export interface GradeContext {
  readonly task: Task;
  /** The whole conversation of an episode that is over. */
  readonly history: History;
  readonly signal?: AbortSignal | undefined;
}

/** Gives an episode a score. */
export interface Grader {
  readonly name: string;
  /** From 0 to 1; `null` when no score can be given, which is not the same as 0. */
  grade(context: GradeContext): number | null | Promise<number | null>;
}
