import { readCsv } from "./csv_rows.ts";
import { type DatasetFilesOptions, findDatasetFiles } from "./dataset_files.ts";
import { readJsonFile } from "./json_file.ts";
import { readJsonLines } from "./json_lines.ts";
import { readParquet } from "./parquet_rows.ts";
import type { RawRow } from "./raw_row.ts";
import { type Rows, splitBatches } from "./unbound_rows.ts";

/**
 * A source of rows: the path of a file or folder, the rows themselves, or a function that returns those of a
 * pass.
 */
export type RowSource = string | URL | Rows | ((pass: number) => Rows);

/** Options of {@linkcode readRows}. */
export interface ReadRowsOptions extends DatasetFilesOptions {
  /**
   * Number of the pass over the rows.
   *
   * @default 0
   */
  pass?: number | undefined;
}

/**
 * Reads the rows of a dataset one by one, no faster than they are consumed. Files ending in `.csv` and
 * `.parquet` are read as such, those in `.json` can contain one list of rows, and all others are JSON lines.
 * All formats but Parquet can be compressed (`.gz`).
 */
export async function* readRows(
  source: RowSource,
  options: ReadRowsOptions = {},
): AsyncGenerator<RawRow> {
  if (source instanceof URL || typeof source === "string") {
    const path = source instanceof URL ? filePath(source) : source;
    for (const file of await findDatasetFiles(path, options)) yield* readFile(file);
  } else {
    yield* splitBatches(typeof source === "function" ? source(options.pass ?? 0) : source);
  }
}

function readFile(path: string): AsyncGenerator<RawRow> {
  if (/\.parquet$/i.test(path)) return readParquet(path);
  if (/\.csv(?:\.gz)?$/i.test(path)) return readCsv(path);
  return /\.json(?:\.gz)?$/i.test(path) ? readJsonFile(path) : readJsonLines(path);
}

function filePath({ protocol, pathname, href }: URL): string {
  if (protocol === "file:") return decodeURIComponent(pathname);
  throw new TypeError(`Cannot open dataset as its URL must be a file URL: current value is '${href}'`);
}
