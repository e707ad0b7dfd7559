import type { Task } from "../task.ts";
import { type Collate, textAsQuery } from "./collate.ts";
import type { RawRow } from "./raw_row.ts";
import { requireRow, type Row } from "./row_shape.ts";
import { rowTask } from "./row_task.ts";

/** How rows become tasks. */
export interface CollatedOptions {
  /** Given the rows of a batch before they become tasks; renames `text` to `query` unless given. */
  collate?: Collate | undefined;
  /** The field that is asked; `query` unless given, or what a known shape asks. */
  dataKey?: string | undefined;
}

/** Gives a task, or throws what was wrong with it. */
export type MaybeTask = () => Task;

interface Batch {
  readonly raws: RawRow[];
  readonly rows: Row[];
  readonly failures: MaybeTask[];
}

/**
 * The tasks of a batch of rows, in their order, and behind them a failure for each row that is none: it takes no
 * other row with it. When `collate` fails, each row of the batch does.
 */
export async function collated(
  batch: readonly RawRow[],
  options: CollatedOptions,
): Promise<readonly MaybeTask[]> {
  const { collate = textAsQuery, dataKey } = options;
  const { raws, rows, failures } = readBatch(batch);
  try {
    const given = await collate(rows);
    if (!Array.isArray(given)) {
      throw new TypeError("Cannot collate rows as 'collate' must give a list of rows");
    }
    const tasks = given.map((row: unknown, index): MaybeTask => {
      const { place, id } = given.length === rows.length
        ? raws[index] ?? made(raws, index)
        : made(raws, index);
      return () => rowTask(row, { place, id, dataKey });
    });
    return [...tasks, ...failures];
  } catch (error) {
    return batch.map(() => failing(error));
  }
}

function readBatch(batch: readonly RawRow[]): Batch {
  const read: Batch = { raws: [], rows: [], failures: [] };
  for (const raw of batch) {
    try {
      read.rows.push(requireRow(raw.value(), raw.place));
      read.raws.push(raw);
    } catch (error) {
      read.failures.push(failing(error));
    }
  }
  return read;
}

/** Where a row stands that `collate` made of several, or of none. */
function made([first]: readonly RawRow[], index: number): { place: string; id: string } {
  const { place = "a row of 'collate'", id = "row" } = first ?? {};
  return { place: `${place} (row ${index + 1} of its batch)`, id: `${id}.${index + 1}` };
}

function failing(error: unknown): MaybeTask {
  return () => {
    throw error;
  };
}
