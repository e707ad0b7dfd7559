import { DatasetError } from "../errors.ts";

/** Which files of a folder {@linkcode datasetFiles} takes. */
export interface DatasetFilesOptions {
  /** A folder in the folder, where a dataset comes in several forms: `main`. */
  name?: string | undefined;
  /** The files, or the folders, that are called so: `test.jsonl`, `test-00000-of-00002.parquet`, `test/a.csv`. */
  split?: string | undefined;
}

const READABLE = /\.(?:(?:jsonl|ndjson|csv)(?:\.gz)?|parquet)$/i;

/**
 * The files that a dataset is made of, sorted by their paths: the file itself, or those JSON lines, CSV and
 * Parquet files of a folder that belong to the split. Without a split it is `train` if there is one, else all.
 * Names that start with a dot, and links to folders, are passed over.
 *
 * @throws {DatasetError} when there is no such file.
 * @throws {Deno.errors.NotFound} when there is no such path.
 */
export async function datasetFiles(path: string, options: DatasetFilesOptions = {}): Promise<string[]> {
  const { name, split } = options;
  const root = name === undefined ? path : `${path}/${name}`;
  const { isDirectory } = await Deno.stat(root);
  const files = isDirectory ? await filesUnder(root) : [root];
  const belonging = (wanted: string) =>
    files.filter((file) => belongs(isDirectory ? file.slice(root.length) : file, wanted));
  const chosen = split === undefined ? orAll(belonging("train"), files) : belonging(split);
  if (chosen.length > 0) return chosen;
  const what = split === undefined ? "hold a file of JSON lines, CSV or Parquet" : `have a split '${split}'`;
  throw new DatasetError(
    `Cannot open dataset as '${root}' must ${what}: its files are [${files.join(", ")}]`,
  );
}

function orAll(chosen: string[], files: string[]): string[] {
  return chosen.length > 0 ? chosen : files;
}

async function filesUnder(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.name.startsWith(".")) continue;
    if (entry.isDirectory) found.push(...await filesUnder(path));
    else if (READABLE.test(entry.name)) found.push(path);
  }
  return found.sort();
}

/** Whether a folder or the file is called like the split, alone or with a number or the like behind it. */
function belongs(path: string, split: string): boolean {
  return path.split("/").some((part) => part === split || /^[-_.]/.test(restAfter(part, split)));
}

function restAfter(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : "";
}
