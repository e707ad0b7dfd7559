import { attributeErrors } from "../boundary.ts";
import type { TaskSource } from "../datasets/task_source.ts";
import { ArgumentTypeError, DatasetError } from "../errors.ts";
import { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import { type BatchShape, requireSize } from "./batch_shape.ts";

/** Task of one element: a task, or only its query. */
export type BatchTask = Task | string | History | readonly Message[];

/** Tasks of a batch: one task for all elements, or a list with one task for each element. */
export type BatchTasks = BatchTask | readonly BatchTask[];

/**
 * Returns a function that gives the task of an element.
 *
 * If `tasks` is a source, each call takes the next task from it.
 *
 * @throws {TypeError} if `tasks` is null or undefined.
 * @throws {RangeError} if `tasks` is a list whose length is not the size of the batch.
 */
export function createTaskGetter(
  tasks: BatchTasks | TaskSource,
  shape: BatchShape,
  signal: AbortSignal | undefined,
): (index: number) => Task | Promise<Task> {
  if (tasks === null || tasks === undefined) {
    throw new ArgumentTypeError(`Cannot reset batch as it expects tasks as input: current value is ${tasks}`);
  }
  if (isSource(tasks)) {
    const options = { error: DatasetError, failure: "Cannot take task", signal };
    return (index) => attributeErrors(() => tasks.take(index), options);
  }
  if (!isList(tasks)) return (index) => taskOf(tasks, index);
  requireSize(tasks, { shape, name: "tasks" });
  return (index) => taskOf(tasks[index], index);
}

function taskOf(task: BatchTask | undefined, index: number): Task {
  if (typeof task === "string" || task instanceof History || isChat(task)) {
    return { id: `query:${index}`, query: task };
  }
  if (typeof task === "object" && task !== null && "query" in task) return task;
  const keys = task === null || task === undefined ? `${task}` : `keys [${Object.keys(task).join(", ")}]`;
  throw new ArgumentTypeError(
    `Cannot reset element ${index} as it expects a task with a 'query', got ${keys}`,
  );
}

function isSource(tasks: BatchTasks | TaskSource): tasks is TaskSource {
  return typeof tasks === "object" && "take" in tasks && typeof tasks.take === "function";
}

function isList(tasks: BatchTasks): tasks is readonly BatchTask[] {
  return Array.isArray(tasks) && !isChat(tasks);
}

/** True if the value is one conversation, not a list of tasks. */
function isChat(value: unknown): value is readonly Message[] {
  return Array.isArray(value) && value.length > 0 &&
    value.every((item) => typeof item === "object" && item !== null && "role" in item && !("query" in item));
}
