import { freshSeed } from "../seeded_random.ts";
import type { Task } from "../task.ts";
import { collated, type CollatedOptions } from "./collated.ts";
import type { DatasetFilesOptions } from "./dataset_files.ts";
import { inBatches } from "./in_batches.ts";
import { readRows, type RowSource } from "./read_rows.ts";
import { shuffled } from "./shuffled.ts";

/** How {@linkcode readDataset} reads. */
export interface ReadDatasetOptions extends DatasetFilesOptions, CollatedOptions {
  /** Gives the rows in an order of chance: of more than 10,000, each is drawn from among so many. */
  shuffle?: boolean | undefined;
  /** Decides the order; one of chance unless given. */
  seed?: number | undefined;
  /** How many rows `collate` is given at once. */
  batchSizeDl?: number | undefined;
}

/**
 * The tasks of a dataset, once through and one at a time: rows of our own, of GSM8K, IFEval, HumanEval, MBPP or MATH, or
 * any with a field to ask. Fields that a task has no place for are in its `fields`.
 *
 * @throws {SyntaxError} at a row that is no task, with its file and number, or a file that is broken.
 * @throws {DatasetError} when there is no such split.
 */
export async function* readDataset(
  dataset: RowSource,
  options: ReadDatasetOptions = {},
): AsyncGenerator<Task> {
  const { shuffle = false, seed = freshSeed(), batchSizeDl = 1 } = options;
  const rows = readRows(dataset, options);
  for await (const batch of inBatches(shuffle ? shuffled(rows, { seed }) : rows, batchSizeDl)) {
    for (const task of await collated(batch, options)) yield task();
  }
}
