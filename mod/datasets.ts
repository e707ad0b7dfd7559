/**
 * Readers of task files and data sets: JSON lines, CSV and Parquet.
 *
 * @module
 */
export { DatasetError } from "../src/errors.ts";
export { deriveSeed, type Random, seededRandom } from "../src/seeded_random.ts";
export type { Collate, CollateOptions } from "../src/datasets/collate.ts";
export {
  DataLoadingPrimer,
  type DataLoadingPrimerOptions,
  type EndlessTasksOptions,
  type TaskSource,
} from "../src/datasets/data_loading_primer.ts";
export type { DatasetFilesOptions } from "../src/datasets/files.ts";
export { readDataset, type ReadDatasetOptions } from "../src/datasets/read_dataset.ts";
export type { Rows, RowSource } from "../src/datasets/read_rows.ts";
export type { FoundColumns, TaskColumns } from "../src/datasets/columns.ts";
export { readTasks, type ReadTasksOptions } from "../src/datasets/read_tasks.ts";
export type { Row } from "../src/datasets/row.ts";
