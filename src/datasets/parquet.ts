import {
  type AsyncBuffer,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
} from "hyparquet";
import { compressors as plainCompressors } from "hyparquet-compressors";
import { errorMessage } from "../errors.ts";
import { MAX_PAGE_BYTES, requireBoundedPages } from "./parquet_pages.ts";
import { requireColumns, requireNoVariant, withStoredTypes } from "./parquet_schema.ts";
import { decodeText, type ToData, toDataOf } from "./parquet_values.ts";
import { RawRow } from "./row.ts";

/** Approximate size of a slice that is decompressed at once, in bytes. */
const SLICE_BYTES = 16 * 1024 * 1024;

/** Maximum number of rows of a row group, if that is more than 16 for each byte of the file. */
const MAX_GROUP_ROWS = 1_000_000;
const MAX_ROWS_PER_BYTE = 16;
/** Maximum number of rows that are read at once. */
const SLICE_ROWS = 100_000;

type Compressors = typeof plainCompressors;

/** Decompressors that refuse a page before they allocate too much for the page. */
const compressors: Compressors = Object.fromEntries(
  Object.entries(plainCompressors).map(([codec, decompress]): [string, Compressors[keyof Compressors]] => [
    codec,
    (page, length) => {
      requireAtMost(length, MAX_PAGE_BYTES, "bytes in a page");
      // A page of nulls has no values. The decompressors of LZ4 throw for nothing.
      return length === 0 ? new Uint8Array(0) : decompress(page, length);
    },
  ]),
);

/** Leaves bytes that are no text, and times of 96 bits, to {@linkcode toDataOf}. */
const parsers = {
  stringFromBytes: (bytes: Uint8Array): unknown => decodeText(bytes) ?? bytes,
  timestampFromNanoseconds: (nanos: bigint): unknown => nanos,
};

/** A range of rows that are read together; `rowEnd` is exclusive. */
interface Slice {
  readonly rowStart: number;
  readonly rowEnd: number;
  /** Row group that begins with the row. */
  readonly group: FileMetaData["row_groups"][number] | undefined;
}

/**
 * Reads the rows of a Parquet file with any compression. Row groups are read in order, large groups in
 * slices of about 16 MiB. Memory holds one compressed group and one decompressed slice. Values become JSON data as
 * {@linkcode toDataOf} says; a value that cannot be read throws when the row's value is read.
 *
 * @throws {SyntaxError} if the file is not Parquet, or damaged.
 */
export async function* readParquet(path: string): AsyncGenerator<RawRow> {
  using file = await Deno.open(path);
  await using buffer = toAsyncBuffer(file, (await file.stat()).size);
  const metadata = await parseParquet(path, async () => {
    const metadata = await parquetMetadataAsync(buffer);
    requireRows(metadata, buffer.byteLength);
    return metadata;
  });
  const { stored, toRow } = await parseParquet(path, () => {
    requireNames(metadata);
    requireNoVariant(metadata);
    requireColumns(metadata);
    return { stored: withStoredTypes(metadata), toRow: toDataOf(parquetSchema(metadata)) };
  });
  for (const slice of slices(metadata)) {
    const { group } = slice;
    if (group !== undefined) {
      await parseParquet(path, () => requireBoundedPages(buffer, { metadata, group, compressors }));
    }
    const rows = await parseParquet(path, () => readSlice(slice, buffer, stored));
    for (const [index, row] of rows.entries()) {
      const number = slice.rowStart + index + 1;
      yield RawRow.inFile(path, number, () => readRow(row, toRow, `${path}:${number}`));
    }
  }
}

function readRow(row: unknown, toRow: ToData, location: string): unknown {
  try {
    return toRow(row);
  } catch (cause) {
    throw new SyntaxError(`Cannot read task at ${location} as ${errorMessage(cause)}`, { cause });
  }
}

/** Refuses a name that the library would assign as a prototype. */
function requireNames({ schema }: FileMetaData): void {
  if (schema.some(({ name }) => name === "__proto__")) {
    throw new TypeError("no column or field may be called '__proto__': found one");
  }
}

/** Checks the numbers of rows, which a small file can make arbitrarily large. */
function requireRows({ row_groups }: FileMetaData, fileBytes: number): void {
  const most = Math.max(MAX_GROUP_ROWS, MAX_ROWS_PER_BYTE * fileBytes);
  for (const { num_rows } of row_groups) requireAtMost(Number(num_rows), most, "rows in a row group");
}

function requireAtMost(found: number, most: number, what: string): void {
  if (!(found <= most)) throw new RangeError(`there may be ${most} ${what}: found ${found}`);
}

function readSlice(
  { rowStart, rowEnd }: Slice,
  file: AsyncBuffer,
  metadata: FileMetaData,
): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({
    rowStart,
    rowEnd,
    file,
    metadata,
    compressors,
    parsers,
    utf8: false,
    useOffsetIndex: true,
  });
}

function* slices({ row_groups }: FileMetaData): Generator<Slice> {
  let start = 0;
  for (const group of row_groups) {
    const { num_rows, total_byte_size } = group;
    const first = start;
    const end = start + Number(num_rows);
    const parts = Math.max(
      1,
      Math.ceil(Number(total_byte_size) / SLICE_BYTES),
      Math.ceil((end - start) / SLICE_ROWS),
    );
    const size = Math.max(1, Math.ceil((end - start) / parts));
    for (; start < end; start += size) {
      const rowEnd = Math.min(start + size, end);
      yield { rowStart: start, rowEnd, group: start === first ? group : undefined };
    }
    start = end;
  }
}

/**
 * Wraps a file for random access. Reads run in order, one at a time, since they share the file's position. Disposal
 * waits for the reads, as the library leaves reads behind when a column is damaged.
 */
function toAsyncBuffer(file: Deno.FsFile, byteLength: number): AsyncBuffer & AsyncDisposable {
  let queue: Promise<unknown> = Promise.resolve();
  return {
    async [Symbol.asyncDispose]() {
      await queue;
    },
    byteLength,
    slice(start, end = byteLength) {
      const bytes = queue.then(() => readAt(file, start, Math.max(0, Math.min(end, byteLength) - start)));
      queue = bytes.catch(() => {}); // The caller of this read gets the error.
      return bytes;
    },
  };
}

async function readAt(file: Deno.FsFile, start: number, size: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  await file.seek(start, Deno.SeekMode.Start);
  let filled = 0;
  while (filled < size) {
    const count = await file.read(bytes.subarray(filled));
    if (count === null) throw new RangeError(`the file ends before byte ${start + size}`);
    filled += count;
  }
  return bytes.buffer;
}

async function parseParquet<T>(path: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SyntaxError(`Cannot read tasks at ${path} as it must be Parquet: ${reason}`, { cause });
  }
}
