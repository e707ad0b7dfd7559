import { requireKnownOptions } from "../options.ts";
import { DatasetError } from "../errors.ts";
import type { Task } from "../task.ts";
import { type FileTaskOptions, type FoundColumns, type TaskColumns, toFileTask } from "./columns.ts";
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
  /** Columns of the query, the answer and other parts of a task, if they are not found by their names. */
  columns?: TaskColumns | undefined;
  /** Called with the columns of the query and the answer of each row that has no known format. */
  onFound?: ((found: FoundColumns) => void) | undefined;
  /**
   * Called for a row that does not describe a task. Instead of an error, a task with the row's id and an
   * empty query is yielded, which cannot be played. If all of the first {@linkcode FIRST_ROWS} rows describe none,
   * reading ends with a `DatasetError` instead.
   */
  onFault?: ((task: Task, error: DatasetError) => void) | undefined;
}

/** Number of first rows of which one must describe a task. */
export const FIRST_ROWS = 8;

/**
 * Reads a file of tasks, one at a time. Rows are in Paddock's own format `{ query, id?, answer?, replies?, reference?,
 * fields? }`, in the format of GSM8K, IFEval, HumanEval, MBPP or MATH, or any with a query, such as rows of TRL, verl
 * and inspect: {@linkcode TaskColumns} names the columns that are found. Other columns become the task's `fields`. The
 * file is JSON lines, a JSON list (`.json`), CSV, TSV or Parquet, or a folder of such files. Empty lines are skipped.
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
 * @throws {SyntaxError} if a row does not describe a task and there is no `onFault`, with the file and row number; if a
 * file is damaged.
 * @throws {DatasetError} if there is no such file or split.
 * @throws {RangeError} if the limit is not a whole number of at least 1.
 */
export async function* readTasks(path: string, options: ReadTasksOptions = {}): AsyncGenerator<Task> {
  requireKnownOptions("call readTasks", options, {
    limit: true,
    split: true,
    columns: true,
    onFound: true,
    onFault: true,
  });
  const { limit = Infinity, split, columns = {}, onFound, onFault } = options;
  if (!(limit >= 1) || (limit !== Infinity && !Number.isInteger(limit))) {
    throw new RangeError(
      `Cannot read tasks as 'limit' must be a whole number >= 1: current value is ${limit}`,
    );
  }
  const rows = takeRows(readRows(path, { split }), limit);
  if (onFault === undefined) {
    for await (const row of rows) yield strictTask(row, { columns, onFound });
  } else {
    yield* placeFaults(rows, { columns, onFound, onFault });
  }
}

async function* takeRows(rows: AsyncIterable<RawRow>, limit: number): AsyncGenerator<RawRow> {
  let count = 0;
  for await (const row of rows) {
    yield row;
    if (++count >= limit) return;
  }
}

/** Yields a task for each row, also for those that are none. */
async function* placeFaults(
  rows: AsyncIterable<RawRow>,
  { onFault, ...options }: RowOptions & { onFault: (task: Task, error: DatasetError) => void },
): AsyncGenerator<Task> {
  /** First rows, which all describe no task; `undefined` after another row. */
  let first: { task: Task; error: DatasetError }[] | undefined = [];
  for await (const row of rows) {
    const read = taskOrPlaceholder(row, options);
    if (first !== undefined && read.error !== undefined) {
      first.push({ task: read.task, error: read.error });
      if (first.length >= FIRST_ROWS) break;
      continue;
    }
    for (const { task, error } of first ?? []) {
      onFault(task, error);
      yield task;
    }
    first = undefined;
    if (read.error !== undefined) onFault(read.task, read.error);
    yield read.task;
  }
  const [fault] = first ?? [];
  if (fault !== undefined) throw fault.error;
}

function taskOrPlaceholder(row: RawRow, options: RowOptions): { task: Task; error?: DatasetError } {
  try {
    return { task: strictTask(row, options) };
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    return { task: { id: row.id, query: "" }, error: new DatasetError(cause.message, { cause }) };
  }
}

type RowOptions = Pick<FileTaskOptions, "columns" | "onFound">;

function strictTask({ location, id, value }: RawRow, options: RowOptions): Task {
  return { id, ...toFileTask(requireRow(value(), location), { ...options, location }) };
}
