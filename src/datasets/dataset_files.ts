import { DatasetError } from "../errors.ts";

/** Options that select files of a dataset folder. */
export interface DatasetFilesOptions {
  /** Sub-folder with one configuration of the dataset, such as `main`. */
  name?: string | undefined;
  /**
   * Selects files or folders by name. `test` selects `test.jsonl`, `test-00000-of-00002.parquet` and
   * `test/a.csv`.
   *
   * @default "train" if there is such a split, else all files
   */
  split?: string | undefined;
}

const READABLE = /\.(?:(?:jsonl|ndjson|csv)(?:\.gz)?|parquet)$/i;

/**
 * Returns the files of a dataset, sorted by path: the file itself, or the JSON lines, CSV and Parquet files
 * of a folder that belong to the split. Names that start with a dot and links to folders are skipped.
 *
 * @throws {DatasetError} if no file matches.
 * @throws {Deno.errors.NotFound} if the path does not exist.
 */
export async function findDatasetFiles(path: string, options: DatasetFilesOptions = {}): Promise<string[]> {
  const { name, split } = options;
  const root = name === undefined ? path : `${path}/${name}`;
  const { isDirectory } = await Deno.stat(root);
  const files = isDirectory ? await filesUnder(root) : [root];
  const filesOf = (split: string) =>
    files.filter((file) => isInSplit(isDirectory ? file.slice(root.length) : file, split));
  const selected = split === undefined ? orAll(filesOf("train"), files) : filesOf(split);
  if (selected.length > 0) return selected;
  const requirement = split === undefined
    ? "contain a JSON lines, CSV or Parquet file"
    : `have a split '${split}'`;
  throw new DatasetError(
    `Cannot open dataset as '${root}' must ${requirement}: its files are [${files.join(", ")}]`,
  );
}

function orAll(selected: string[], files: string[]): string[] {
  return selected.length > 0 ? selected : files;
}

async function filesUnder(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.name.startsWith(".")) continue;
    if (entry.isDirectory) files.push(...await filesUnder(path));
    else if (READABLE.test(entry.name)) files.push(path);
  }
  return files.sort();
}

/** True if a folder or the file has the split's name, alone or followed by `-`, `_` or `.` and more. */
function isInSplit(path: string, split: string): boolean {
  return path.split("/").some((part) => part === split || /^[-_.]/.test(suffixAfter(part, split)));
}

function suffixAfter(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : "";
}
