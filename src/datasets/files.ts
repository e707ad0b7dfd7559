import { DatasetError } from "../errors.ts";

/** Options that select files of a dataset folder. */
export interface DatasetFilesOptions {
  /** Sub-folder with a configuration of the dataset, such as `main`. */
  name?: string | undefined;
  /**
   * Selects files or folders by name. `test` selects `test.jsonl`, `test-00000-of-00002.parquet` and
   * `test/a.csv`.
   *
   * @default "train" if there is such a split, else all files
   */
  split?: string | undefined;
}

const READABLE = /\.(?:(?:jsonl|ndjson|csv|tsv)(?:\.gz)?|parquet)$/i;

/**
 * Returns the files of a dataset, sorted by path: the file itself, or the JSON lines, CSV, TSV and Parquet files
 * of a folder that belong to the split. Names that start with a dot and links to folders are skipped.
 *
 * @throws {DatasetError} if no file matches.
 * @throws {Deno.errors.NotFound} if the path does not exist. For a name of a hub, such as `openai/gsm8k`, the message
 * tells how to get the files: no data set is fetched.
 */
export async function findDatasetFiles(path: string, options: DatasetFilesOptions = {}): Promise<string[]> {
  const { name, split } = options;
  const root = name === undefined ? path : `${path}/${name}`;
  const { isDirectory } = await statOf(root, path);
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

/**
 * Name of a data set on a hub: `owner/name`, or a name without extension such as `gsm8k`, perhaps behind a scheme or
 * the address of Hugging Face, and before a revision such as `@main`.
 */
const HUB_NAME =
  /^(?:hf:(?:\/\/(?:datasets\/)?)?|https:\/\/huggingface\.co\/datasets\/)?([\w-][\w.-]*\/[\w-][\w.-]*?|[\w-]+)(?:@([\w./-]+?))?\/?$/;
/** End of the name of a file. */
const FILE = /\.(?:json|jsonl|ndjson|csv|tsv|parquet)(?:\.gz)?$/i;

async function statOf(root: string, path: string): Promise<Deno.FileInfo> {
  try {
    return await Deno.stat(root);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    const hint = root === path || await isMissing(path) ? hubHint(path) : "";
    throw new Deno.errors.NotFound(
      `Cannot open dataset as '${root}' must be a file or folder: ${cause.message}${hint}`,
      { cause },
    );
  }
}

function hubHint(path: string): string {
  const [, name, revision] = HUB_NAME.exec(path) ?? [];
  if (name === undefined || FILE.test(name)) return "";
  const options = revision === undefined
    ? "--repo-type dataset"
    : `--repo-type dataset --revision ${revision}`;
  return `. Data sets are local files: get one of a hub first, such as by 'hf download ${name} ${options} ` +
    `--local-dir ${name.split("/").at(-1)}', and give its folder`;
}

function isMissing(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => false, () => true);
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

const CHUNK_BYTES = 64 * 1024;
/** Bytes that are decompressed at once. They expand to at most a thousand times as many, all of which are in memory. */
const PACKED_BYTES = 4 * 1024;
/** A compressed file of text expands to less than this multiple of the file's size. */
const MAX_EXPANSION = 100;
/** Size up to which any expansion is allowed, in bytes. */
const MIN_EXPANDED_BYTES = 64 * 1024 * 1024;

/**
 * Reads a file in chunks, and decompresses a file whose name ends in `.gz`. A chunk is valid until the next chunk is
 * read.
 *
 * @throws {SyntaxError} if the name ends in `.gz` and the file is not gzip, or expands to more than 64 MiB and 100
 * times the file's size.
 */
export function readFileChunks(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  return /\.gz$/i.test(path) ? decompressedChunks(path) : plainChunks(path);
}

async function* plainChunks(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  using file = await Deno.open(path);
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (let size = await file.read(chunk); size !== null; size = await file.read(chunk)) {
    yield chunk.subarray(0, size);
  }
}

async function* decompressedChunks(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const maxBytes = Math.max(MIN_EXPANDED_BYTES, MAX_EXPANSION * (await Deno.stat(path)).size);
  const pieces = ReadableStream.from(packedPieces(path));
  const reader = pieces.pipeThrough(new DecompressionStream("gzip")).getReader();
  let bytes = 0;
  try {
    for (let read = await nextChunk(reader, path); !read.done; read = await nextChunk(reader, path)) {
      bytes += read.value.length;
      if (bytes > maxBytes) {
        throw new SyntaxError(
          `Cannot read tasks at ${path} as it must expand to at most ${maxBytes} bytes: it has more`,
        );
      }
      yield read.value;
      read.value.buffer.transfer(0); // the collector would keep many chunks
    }
  } finally {
    await reader.cancel().catch(() => {}); // The error of a failed stream was already thrown by `read`.
  }
}

async function* packedPieces(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const chunk of plainChunks(path)) {
    for (let at = 0; at < chunk.length; at += PACKED_BYTES) yield chunk.slice(at, at + PACKED_BYTES);
  }
}

async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  path: string,
): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>> {
  try {
    return await reader.read();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new SyntaxError(`Cannot read tasks at ${path} as it must be gzip: ${cause.message}`, { cause });
  }
}

/**
 * Reads the text of a file in chunks, without a byte order mark.
 *
 * @param location Returns the current location of the reader, for error messages.
 * @throws {SyntaxError} if the file is not UTF-8.
 */
export async function* readTextChunks(path: string, location: () => string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes?: Uint8Array<ArrayBuffer>) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (cause) {
      throw new SyntaxError(
        `Cannot read tasks at ${location()} or after it as the file must be UTF-8: found an invalid byte`,
        { cause },
      );
    }
  };
  for await (const chunk of readFileChunks(path)) yield decode(chunk);
  yield decode();
}
