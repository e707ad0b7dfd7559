import type { TaskSource } from "../datasets/data_loading_primer.ts";
import { ArgumentTypeError, attributeErrors, DatasetError } from "../errors.ts";
import { History } from "../history.ts";
import type { Message } from "../message.ts";
import { type Task, type TaskInput, toTask } from "../task.ts";

/** Shape of a batch: the length of each of its axes. */
export type BatchShape = readonly number[];

/**
 * Converts a number or a list to a batch shape.
 *
 * `null` and `undefined` mean a batch of one element.
 *
 * @throws {RangeError} if the shape has no axis, or an axis is not a whole number >= 1.
 */
export function toBatchShape(
  batchSize: number | readonly number[] | null | undefined,
  owner: string,
): BatchShape {
  const shape = typeof batchSize === "number" ? [batchSize] : [...batchSize ?? [1]];
  if (shape.length === 0) {
    throw new RangeError(`${owner} must have at least one dimension: 'batchSize' is []`);
  }
  for (const length of shape) {
    if (Number.isInteger(length) && length >= 1) continue;
    throw new RangeError(
      `Cannot create ${owner} as 'batchSize' must be whole numbers >= 1: current value is [${
        shape.join(", ")
      }]`,
    );
  }
  return shape;
}

/** Returns the number of elements in a batch of this shape. */
export function sizeOf(shape: BatchShape): number {
  return shape.reduce((size, length) => size * length, 1);
}

/**
 * Checks that a list has one item for each element of the batch.
 *
 * @throws {RangeError} if the list has another length.
 */
export function requireSize(list: readonly unknown[], expected: { shape: BatchShape; name: string }): void {
  const { shape, name } = expected;
  const size = sizeOf(shape);
  if (list.length === size) return;
  const batch = shape.length > 1 ? `, for a batch of shape [${shape.join(", ")}]` : "";
  throw new RangeError(
    `Expected ${name} with one value for each element of the batch, got [${list.length}] and [${size}]${batch}`,
  );
}

/** Task of one element: a task, or only its query. */
export type BatchTask = TaskInput | string | History | readonly Message[];

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
  if (!isList(tasks)) return (index) => sharedTaskOf(tasks, index);
  requireSize(tasks, { shape, name: "tasks" });
  return (index) => taskOf(tasks[index], index);
}

/** Returns the task of an element in a batch of one task. All elements are then one group. */
function sharedTaskOf(tasks: BatchTask, index: number): Task {
  const task = taskOf(tasks, index);
  return typeof tasks === "object" && "query" in tasks ? task : { ...task, group: "query" };
}

function taskOf(task: BatchTask | undefined, index: number): Task {
  if (typeof task === "string" || task instanceof History || isChat(task)) {
    return { id: `query:${index}`, query: task };
  }
  if (typeof task === "object" && task !== null && "query" in task) return toTask(task);
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
