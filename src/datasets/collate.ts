import type { Task } from "../task.ts";
import { type RawRow, requireRow, type Row } from "./row.ts";
import { toTask } from "./row_shapes.ts";

/** Options for the conversion of rows to tasks. */
export interface CollateOptions {
  /**
   * Transforms the rows of a batch before they become tasks.
   *
   * @default a function that renames `text` to `query`
   */
  collate?: Collate | undefined;
  /**
   * The field with the query.
   *
   * @default "query", or the query field of a known dataset
   */
  dataKey?: string | undefined;
}

/** A function that returns a task, or throws the error of the task's row. */
export type LazyTask = () => Task;

interface Batch {
  readonly raws: RawRow[];
  readonly rows: Row[];
  readonly failures: LazyTask[];
}

/**
 * Converts a batch of rows to tasks, in order, followed by one failure for each invalid row. An invalid row
 * does not affect the others; if `collate` throws, every row of the batch fails.
 */
export async function collateBatch(
  batch: readonly RawRow[],
  options: CollateOptions,
): Promise<readonly LazyTask[]> {
  const { collate = renameTextToQuery, dataKey } = options;
  const { raws, rows, failures } = readBatch(batch);
  try {
    const collatedRows = await collate(rows);
    if (!Array.isArray(collatedRows)) {
      throw new TypeError(
        `Cannot collate rows as 'collate' must return a list of rows: it returned ${typeof collatedRows}`,
      );
    }
    const tasks = collatedRows.map((row: unknown, index): LazyTask => {
      const raw = collatedRows.length === rows.length ? raws[index] : undefined;
      const { location, id } = raw ?? batchPosition(raws, index);
      return () => toTask(row, { location, id, dataKey });
    });
    return [...tasks, ...failures];
  } catch (error) {
    return batch.map(() => throwing(error));
  }
}

function readBatch(batch: readonly RawRow[]): Batch {
  const result: Batch = { raws: [], rows: [], failures: [] };
  for (const raw of batch) {
    try {
      result.rows.push(requireRow(raw.value(), raw.location));
      result.raws.push(raw);
    } catch (error) {
      result.failures.push(throwing(error));
    }
  }
  return result;
}

/**
 * Returns the position of a row that `collate` created, so that the position corresponds to no single row of the
 * source.
 */
function batchPosition([first]: readonly RawRow[], index: number): { location: string; id: string } {
  const { location = "a row of 'collate'", id = "row" } = first ?? {};
  return { location: `${location} (row ${index + 1} of its batch)`, id: `${id}.${index + 1}` };
}

function throwing(error: unknown): LazyTask {
  return () => {
    throw error;
  };
}

/**
 * A function that transforms the rows of a batch: the function can rename fields, write prompts, and drop or add rows.
 */
export type Collate = (rows: readonly Row[]) => readonly Row[] | Promise<readonly Row[]>;

/**
 * Renames the field `text` to `query` in rows without a `query`. The default {@linkcode Collate} function.
 */
function renameTextToQuery(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => {
    if (!("text" in row) || "query" in row) return row;
    const { text, ...others } = row;
    return { query: text, ...others };
  });
}

/**
 * Groups items into lists of `size`; the last list may be shorter.
 *
 * @throws {RangeError} if the size is not a whole number of at least 1.
 */
export async function* toBatches<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  requireBatchSize(size);
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/**
 * Checks a batch size.
 *
 * @throws {RangeError} if the size is not a whole number of at least 1.
 */
export function requireBatchSize(size: number): void {
  if (Number.isInteger(size) && size >= 1) return;
  throw new RangeError(
    `Cannot load rows as 'batchSizeDl' must be a whole number >= 1: current value is ${size}`,
  );
}
