import { requireKnownOptions } from "../options.ts";
import { randomSeed, seededRandom } from "../seeded_random.ts";
import type { Task } from "../task.ts";
import { collateBatch, type CollateOptions, toBatches } from "./collate.ts";
import type { DatasetFilesOptions } from "./files.ts";
import { readRows, type RowSource } from "./read_rows.ts";

/** Options of {@linkcode readDataset}. */
export interface ReadDatasetOptions extends DatasetFilesOptions, CollateOptions {
  /**
   * Shuffles the rows. Of more than 10,000 rows, each is drawn from a buffer of 10,000.
   *
   * @default false
   */
  shuffle?: boolean | undefined;
  /**
   * Seed of the shuffled order.
   *
   * @default a random seed
   */
  seed?: number | undefined;
  /**
   * Number of rows that are passed to `collate` at once.
   *
   * @default 1
   */
  batchSizeDl?: number | undefined;
}

/**
 * Reads the tasks of a dataset, one at a time and once. Rows can be in Paddock's own format, in the format
 * of GSM8K, IFEval, HumanEval, MBPP or MATH, or in any format with a query field. Fields without a counterpart
 * in a task go to the task's `fields`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { readDataset } from "@paddock/paddock";
 *
 * const rows = [{ question: "What is 6 times 7?", answer: "6 * 7 = 42\n#### 42" }];
 * for await (const task of readDataset(rows)) {
 *   assertEquals(task.answer, "42");
 * }
 * // a file or a folder: readDataset("./gsm8k", { split: "train", shuffle: true, seed: 0 })
 * ```
 *
 * @throws {SyntaxError} if a row does not describe a task, with its file and row number, or a file is
 * damaged.
 * @throws {DatasetError} if there is no such split.
 */
export async function* readDataset(
  dataset: RowSource,
  options: ReadDatasetOptions = {},
): AsyncGenerator<Task> {
  requireKnownOptions("call readDataset", options, {
    shuffle: true,
    seed: true,
    batchSizeDl: true,
    name: true,
    split: true,
    collate: true,
    dataKey: true,
  });
  const { shuffle = false, seed = randomSeed(), batchSizeDl = 1 } = options;
  const rows = readRows(dataset, options);
  for await (const batch of toBatches(shuffle ? shuffleRows(rows, { seed }) : rows, batchSizeDl)) {
    for (const task of await collateBatch(batch, options)) yield task();
  }
}

/** Options of {@linkcode shuffleRows}. */
export interface ShuffleOptions {
  seed: number;
}

/** Size of the shuffle buffer, in items. */
const BUFFER_SIZE = 10_000;

/**
 * Yields the items in an order that is determined by the seed. For up to 10,000 items every order is equally
 * likely. For more, items are drawn from a buffer of 10,000, so that memory use stays constant; an item then
 * comes at most 10,000 positions early.
 */
export async function* shuffleRows<Item extends object>(
  items: AsyncIterable<Item>,
  options: ShuffleOptions,
): AsyncGenerator<Item> {
  const random = seededRandom(options.seed);
  const buffer: Item[] = [];
  for await (const item of items) {
    if (buffer.length < BUFFER_SIZE) buffer.push(item);
    else yield* buffer.splice(Math.floor(random() * BUFFER_SIZE), 1, item);
  }
  while (buffer.length > 0) {
    const [drawn] = buffer.splice(Math.floor(random() * buffer.length), 1);
    if (drawn !== undefined) yield drawn;
  }
}
