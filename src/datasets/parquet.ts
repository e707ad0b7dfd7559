import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors as plainCompressors } from "hyparquet-compressors";
import { errorMessage } from "../errors.ts";
import { RawRow } from "./row.ts";

/** Approximate size of a slice that is decompressed at once, in bytes. */
const SLICE_BYTES = 16 * 1024 * 1024;

/** Maximum size of a page after decompression, in bytes. Writers make pages of about 1 MiB. */
const MAX_PAGE_BYTES = 256 * 1024 * 1024;
/** Maximum number of rows of a row group, if that is more than 16 for each byte of the file. */
const MAX_GROUP_ROWS = 1_000_000;
const MAX_ROWS_PER_BYTE = 16;
/** Maximum number of rows that are read at once. */
const SLICE_ROWS = 100_000;

type Compressors = typeof plainCompressors;

/** Decompressors that refuse a page before they allocate too much for it. */
const compressors: Compressors = Object.fromEntries(
  Object.entries(plainCompressors).map(([codec, decompress]): [string, Compressors[keyof Compressors]] => [
    codec,
    (page, length) => {
      requireAtMost(length, MAX_PAGE_BYTES, "bytes in a page");
      return decompress(page, length);
    },
  ]),
);

/** A range of rows that are read together; `rowEnd` is exclusive. */
interface Slice {
  readonly rowStart: number;
  readonly rowEnd: number;
}

/**
 * Reads the rows of a Parquet file with any compression. Row groups are read one after the other, large ones
 * in slices of about 16 MiB. Memory holds one compressed group and one decompressed slice. 64-bit integers
 * become numbers if they are safe integers, else strings.
 *
 * @throws {SyntaxError} if the file is not Parquet, or damaged.
 */
export async function* readParquet(path: string): AsyncGenerator<RawRow> {
  using file = await Deno.open(path);
  const buffer = toAsyncBuffer(file, (await file.stat()).size);
  const metadata = await parseParquet(path, async () => {
    const metadata = await parquetMetadataAsync(buffer);
    requireRows(metadata, buffer.byteLength);
    return metadata;
  });
  for (const slice of slices(metadata)) {
    const rows = await parseParquet(path, () => readSlice(slice, buffer, metadata));
    for (const [index, row] of rows.entries()) {
      yield RawRow.inFile(path, slice.rowStart + index + 1, () => toJsonValue(row));
    }
  }
}

/** Checks the numbers of rows, which a small file can make as large as it likes. */
function requireRows({ row_groups }: FileMetaData, fileBytes: number): void {
  const most = Math.max(MAX_GROUP_ROWS, MAX_ROWS_PER_BYTE * fileBytes);
  for (const { num_rows } of row_groups) requireAtMost(Number(num_rows), most, "rows in a row group");
}

function requireAtMost(found: number, most: number, what: string): void {
  if (!(found <= most)) throw new RangeError(`there may be ${most} ${what}: found ${found}`);
}

function readSlice(
  slice: Slice,
  file: AsyncBuffer,
  metadata: FileMetaData,
): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ ...slice, file, metadata, compressors, useOffsetIndex: true });
}

function* slices({ row_groups }: FileMetaData): Generator<Slice> {
  let start = 0;
  for (const { num_rows, total_byte_size } of row_groups) {
    const end = start + Number(num_rows);
    const parts = Math.max(
      1,
      Math.ceil(Number(total_byte_size) / SLICE_BYTES),
      Math.ceil((end - start) / SLICE_ROWS),
    );
    const size = Math.max(1, Math.ceil((end - start) / parts));
    for (; start < end; start += size) yield { rowStart: start, rowEnd: Math.min(start + size, end) };
    start = end;
  }
}

/** Wraps a file for random access. Reads run one after the other, since they share the file's position. */
function toAsyncBuffer(file: Deno.FsFile, byteLength: number): AsyncBuffer {
  let queue: Promise<unknown> = Promise.resolve();
  return {
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

async function parseParquet<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SyntaxError(`Cannot read tasks at ${path} as it must be Parquet: ${reason}`, { cause });
  }
}

/** Converts a Parquet value to JSON data. */
function toJsonValue(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, toJsonValue);
  if (Array.isArray(value)) return value.map(toJsonValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, toJsonValue(field)]));
}
