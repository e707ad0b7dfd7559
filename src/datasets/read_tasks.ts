import { DatasetError } from "../errors.ts";
import type { Task } from "../task.ts";
import { findRowShape, gsm8kShape, nativeTask } from "./row_shapes.ts";
import { type RawRow, requireRow } from "./row.ts";
import { readRows } from "./read_rows.ts";

/** Options of {@linkcode readTasks}. */
export interface ReadTasksOptions {
  /**
   * Maximum number of tasks.
   *
   * @default Infinity
   */
  limit?: number | undefined;
  /**
   * Selects files of a folder, as in {@linkcode readDataset}.
   *
   * @default "train" if there is such a split, else all files
   */
  split?: string | undefined;
  /**
   * Called for a row that does not describe a task. Instead of an error, a task with the row's id and an
   * empty query is yielded, which cannot be played.
   */
  onFault?: ((task: Task, error: DatasetError) => void) | undefined;
}

/**
 * Reads a file of tasks, one at a time. Rows are in Paddock's own format `{ query, id?, answer?, replies?,
 * reference?, fields? }`, in which an unknown field is an error, or in that of GSM8K, IFEval, HumanEval, MBPP
 * or MATH. The file is JSON lines, a JSON list (`.json`), CSV or Parquet, or a folder of such files. Empty
 * lines are skipped.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { readTasks } from "@paddock/paddock";
 *
 * const path = await Deno.makeTempFile({ suffix: ".jsonl" });
 * await Deno.writeTextFile(path, '{"query":"What is 6 times 7?","answer":"42"}\n');
 * const tasks = await Array.fromAsync(readTasks(path, { limit: 10 }));
 * assertEquals(tasks[0]?.answer, "42");
 * await Deno.remove(path);
 * ```
 *
 * @throws {SyntaxError} if a row does not describe a task and there is no `onFault`, with the file and row
 * number; if a file is damaged.
 * @throws {DatasetError} if there is no such file or split.
 * @throws {RangeError} if the limit is not a whole number of at least 1.
 */
export async function* readTasks(path: string, options: ReadTasksOptions = {}): AsyncGenerator<Task> {
  const { limit = Infinity, split, onFault } = options;
  if (!(limit >= 1) || (limit !== Infinity && !Number.isInteger(limit))) {
    throw new RangeError(
      `Cannot read tasks as 'limit' must be a whole number >= 1: current value is ${limit}`,
    );
  }
  let count = 0;
  for await (const row of readRows(path, { split })) {
    yield onFault === undefined ? strictTask(row) : taskOrPlaceholder(row, onFault);
    if (++count >= limit) return;
  }
}

function taskOrPlaceholder(row: RawRow, onFault: (task: Task, error: DatasetError) => void): Task {
  try {
    return strictTask(row);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const task = { id: row.id, query: "" };
    onFault(task, new DatasetError(cause.message, { cause }));
    return task;
  }
}

function strictTask({ location, id, value }: RawRow): Task {
  const row = requireRow(value(), location);
  const shape = "question" in row ? gsm8kShape : findRowShape(row);
  return { id, ...(shape === undefined ? nativeTask(row, location) : shape.task(row, location)) };
}
