import { readCsv } from "./csv_rows.ts";
import { datasetFiles, type DatasetFilesOptions } from "./dataset_files.ts";
import { readJsonFile } from "./json_file.ts";
import { readJsonLines } from "./json_lines.ts";
import { readParquet } from "./parquet_rows.ts";
import type { RawRow } from "./raw_row.ts";
import { type Rows, unboundRows } from "./unbound_rows.ts";

/** Where rows come from: the path of a file or a folder, rows as they are, or a function that gives those of a pass. */
export type RowSource = string | URL | Rows | ((pass: number) => Rows);

/** How {@linkcode readRows} reads. */
export interface ReadRowsOptions extends DatasetFilesOptions {
  /** Which time it is that they are read; the first one is 0. */
  pass?: number | undefined;
}

/**
 * The rows of a dataset, one after the other, read no faster than they are used up. Files ending in `.csv` and
 * `.parquet` are read as such, those in `.json` may be one list of rows, and all others are JSON lines. All but
 * Parquet may be packed (`.gz`).
 */
export async function* readRows(
  source: RowSource,
  options: ReadRowsOptions = {},
): AsyncGenerator<RawRow> {
  if (source instanceof URL || typeof source === "string") {
    const path = source instanceof URL ? filePath(source) : source;
    for (const file of await datasetFiles(path, options)) yield* readFile(file);
  } else {
    yield* unboundRows(typeof source === "function" ? source(options.pass ?? 0) : source);
  }
}

function readFile(path: string): AsyncGenerator<RawRow> {
  if (/\.parquet$/i.test(path)) return readParquet(path);
  if (/\.csv(?:\.gz)?$/i.test(path)) return readCsv(path);
  return /\.json(?:\.gz)?$/i.test(path) ? readJsonFile(path) : readJsonLines(path);
}

function filePath({ protocol, pathname, href }: URL): string {
  if (protocol === "file:") return decodeURIComponent(pathname);
  throw new TypeError(`Cannot open dataset as its URL must be that of a file: current value is '${href}'`);
}
