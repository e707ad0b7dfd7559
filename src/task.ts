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

/** A task as a program may write it: its answer may be a number, as in a file of tasks. */
export interface TaskInput extends Omit<Task, "answer"> {
  /** The expected answer, for graders; never shown to a policy. A number is kept as its text. */
  readonly answer?: string | number | bigint | undefined;
}

/**
 * Returns a task whose answer is text.
 *
 * @throws {TypeError} if the answer is a number that no text has exactly, such as NaN or an integer above 2^53.
 */
export function toTask(task: TaskInput): Task {
  const { answer, ...rest } = task;
  if (answer === undefined || typeof answer === "string") return task as Task;
  if (
    typeof answer === "number" && (!Number.isFinite(answer) || Math.abs(answer) > Number.MAX_SAFE_INTEGER)
  ) {
    throw new TypeError(
      `Cannot use task '${task.id}' as its answer must be a text or an exact number: current value is ${answer}`,
    );
  }
  return { ...rest, answer: String(answer) };
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
