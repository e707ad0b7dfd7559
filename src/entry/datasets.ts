/**
 * Readers of task files and data sets: JSON lines, CSV and Parquet.
 *
 * @module
 */
export { DatasetError } from "../errors.ts";
export { deriveSeed, type Random, seededRandom } from "../seeded_random.ts";
export type { Collate, CollateOptions } from "../datasets/collate.ts";
export {
  DataLoadingPrimer,
  type DataLoadingPrimerOptions,
  type EndlessTasksOptions,
  type TaskSource,
} from "../datasets/data_loading_primer.ts";
export type { DatasetFilesOptions } from "../datasets/files.ts";
export { readDataset, type ReadDatasetOptions } from "../datasets/read_dataset.ts";
export type { Rows, RowSource } from "../datasets/read_rows.ts";
export { readTasks, type ReadTasksOptions } from "../datasets/read_tasks.ts";
export type { Row } from "../datasets/row.ts";
