import { ArgumentTypeError } from "../errors.ts";
import { readCsv } from "./csv.ts";
import { type DatasetFilesOptions, findDatasetFiles } from "./files.ts";
import { readJsonFile, readJsonLines } from "./json.ts";
import { RawRow } from "./row.ts";
import { isJsonObject } from "../json.ts";

/**
 * A source of rows: the path of a file or folder, the rows themselves, or a function that returns the rows of a
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
 * Reads the rows of a dataset, no faster than they are consumed. Files ending in `.csv`, `.tsv` and
 * `.parquet` are read as such, files ending in `.json` can contain a list of rows, and all others are JSON lines.
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

/**
 * Checks that a value is a path, a URL, a function, or iterable.
 *
 * @throws {TypeError} for any other value.
 */
export function requireRowSource(source: unknown): void {
  if (typeof source === "string" || typeof source === "function" || source instanceof URL) return;
  const isIterable = typeof source === "object" && source !== null &&
    (Symbol.iterator in source || Symbol.asyncIterator in source);
  if (isIterable) return;
  throw new ArgumentTypeError(
    "Cannot load rows as the dataset must be a path, an iterable of rows, or a function that returns one: current value " +
      `is ${describe(source)}`,
  );
}

async function* readFile(path: string): AsyncGenerator<RawRow> {
  if (/\.parquet$/i.test(path)) {
    const { readParquet } = await import("./read_parquet.ts"); // the libraries load slowly
    yield* readParquet(path);
  } else if (/\.[ct]sv(?:\.gz)?$/i.test(path)) yield* readCsv(path);
  else if (/\.json(?:\.gz)?$/i.test(path)) yield* readJsonFile(path);
  else yield* readJsonLines(path);
}

function filePath({ protocol, pathname, href }: URL): string {
  if (protocol === "file:") return decodeURIComponent(pathname);
  throw new TypeError(`Cannot open dataset as its URL must be a file URL: current value is '${href}'`);
}

/** Rows, or batches of rows. A batch is a list of rows, or an object whose fields are columns. */
export type Rows = Iterable<unknown> | AsyncIterable<unknown>;

/** Yields the rows of a data loader and splits its batches. An invalid row throws when the row's value is read. */
export async function* splitBatches(items: Rows): AsyncGenerator<RawRow> {
  let number = 0;
  for await (const item of items) {
    if (item instanceof RawRow) yield item;
    else for (const row of unbatch(item)) yield loadedRow(row, ++number);
  }
}

function loadedRow(row: unknown, number: number): RawRow {
  const value = () => {
    if (isJsonObject(row)) return row;
    throw new TypeError(
      `Data loader must return a mapping, a list of mappings or a mapping of columns: item ${number} is ${
        describe(row)
      }`,
    );
  };
  return new RawRow({ location: `item ${number} of the data loader`, id: `item:${number}`, value });
}

function unbatch(item: unknown): readonly unknown[] {
  if (Array.isArray(item)) return item;
  return isJsonObject(item) && isBatch(item) ? rowsOf(item) : [item];
}

/** True if each field is a column: lists of equal length, with a list of texts and without a list of messages. */
function isBatch(item: Mapping): item is Readonly<Record<string, readonly unknown[]>> {
  const columns = Object.values(item);
  const [first] = columns;
  return Array.isArray(first) && first.length > 0 &&
    columns.every((column) => Array.isArray(column) && column.length === first.length) &&
    columns.some((column) => Array.isArray(column) && column.every((cell) => typeof cell === "string")) &&
    !columns.some((column) =>
      Array.isArray(column) && column.some((cell) => isJsonObject(cell) && "role" in cell)
    );
}

function rowsOf(batch: Readonly<Record<string, readonly unknown[]>>): unknown[] {
  const columns = Object.entries(batch);
  const length = columns[0]?.[1].length ?? 0;
  return Array.from(
    { length },
    (_, index) => Object.fromEntries(columns.map(([key, cells]) => [key, cells[index]])),
  );
}

type Mapping = Readonly<Record<string, unknown>>;

function describe(value: unknown): string {
  if (value === null || Array.isArray(value)) return value === null ? "null" : "a list";
  return `${typeof value} ${String(value)}`.slice(0, 80);
}
