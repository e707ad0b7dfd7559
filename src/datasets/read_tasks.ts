import { DatasetError } from "../errors.ts";
import type { Task } from "../task.ts";
import { gsm8kShape } from "./gsm8k_shape.ts";
import { ownTask } from "./own_row.ts";
import type { RawRow } from "./raw_row.ts";
import { readRows } from "./read_rows.ts";
import { requireRow } from "./row_shape.ts";
import { knownShape } from "./row_task.ts";

/** How {@linkcode readTasks} reads. */
export interface ReadTasksOptions {
  /** Stops after so many tasks. */
  limit?: number | undefined;
  /** Which files of a folder, as `readDataset` has it: `train` if there is one, else all. */
  split?: string | undefined;
  /** Told of a row that is no task; in its place comes a task with its id and nothing else, which cannot be played. */
  onFault?: ((task: Task, error: DatasetError) => void) | undefined;
}

/**
 * Reads a file of tasks, one at a time: rows of our own `{ query, id?, answer?, replies?, reference?, fields? }`,
 * in which an unknown field is an error, or rows of GSM8K, IFEval, HumanEval, MBPP or MATH. The file is JSON lines,
 * one list of JSON (`.json`), CSV or Parquet, or a folder of such; empty lines are passed over.
 *
 * @throws {SyntaxError} at a row that is no task, with the file and the row's number, unless there is an `onFault`;
 * at a file that is broken.
 * @throws {DatasetError} when there is no such file or split.
 * @throws {RangeError} when the limit is not a whole number of at least 1.
 */
export async function* readTasks(path: string, options: ReadTasksOptions = {}): AsyncGenerator<Task> {
  const { limit = Infinity, split, onFault } = options;
  if (!(limit >= 1) || (limit !== Infinity && !Number.isInteger(limit))) {
    throw new RangeError(
      `Cannot read tasks as 'limit' must be a whole number >= 1: current value is ${limit}`,
    );
  }
  let given = 0;
  for await (const row of readRows(path, { split })) {
    yield onFault === undefined ? strictTask(row) : taskOrFault(row, onFault);
    if (++given >= limit) return;
  }
}

function taskOrFault(row: RawRow, onFault: (task: Task, error: DatasetError) => void): Task {
  try {
    return strictTask(row);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const task = { id: row.id, query: "" };
    onFault(task, new DatasetError(cause.message, { cause }));
    return task;
  }
}

function strictTask({ place, id, value }: RawRow): Task {
  const row = requireRow(value(), place);
  const shape = "question" in row ? gsm8kShape : knownShape(row);
  return { id, ...(shape === undefined ? ownTask(row, place) : shape.task(row, place)) };
}
