import type { Message } from "./message.ts";

/** One problem, to be solved in one episode. */
export interface Task {
  readonly id: string;
  /** The user's question, or a conversation that the episode continues. */
  readonly query: string | Iterable<Message>;
  /** The expected answer, for graders; never shown to a policy. */
  readonly answer?: string;
  /** The replies of a scripted policy, one per turn. */
  readonly replies?: readonly string[];
  /** A worked solution, without the answer as a separate field. */
  readonly reference?: string;
  /** The other fields of the task's row, for graders and envs; never shown to a policy. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /**
   * Id of the group of episodes whose rewards a trainer compares with each other, as GRPO does.
   *
   * @default the id of the task
   */
  readonly group?: string;
}

/** The part of a task that a policy may see. */
export type PublicTask = Omit<Task, "answer" | "fields" | "group">;

/** Returns the task without its answer and its other fields, as both could reveal the solution. */
export function withoutAnswer(task: Task): PublicTask {
  const { answer: _answer, fields: _fields, group: _group, ...open } = task;
  return open;
}

/** Returns the id of the group of a task's episodes: its `group`, or else its id. */
export function groupOf(task: Task): string {
  return task.group ?? task.id;
}
