import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { errorMessage } from "../errors.ts";
import { RawRow } from "./raw_row.ts";

/** About how much is unpacked at once, in bytes. */
const SLICE_BYTES = 16 * 1024 * 1024;

/** Rows that are read in one go: from the first, up to the end which is not among them. */
interface Slice {
  readonly rowStart: number;
  readonly rowEnd: number;
}

/**
 * The rows of a Parquet file, whatever it is compressed with. It is read by its row groups, and a large one in
 * slices of some megabytes: what is held is one group as it is in the file, and one slice of it unpacked.
 * Whole numbers of 64 bits come as numbers where a number can hold them, else as text.
 *
 * @throws {SyntaxError} when it is no Parquet, or broken.
 */
export async function* readParquet(path: string): AsyncGenerator<RawRow> {
  using file = await Deno.open(path);
  const buffer = seekable(file, (await file.stat()).size);
  const metadata = await parsed(path, () => parquetMetadataAsync(buffer));
  for (const slice of slices(metadata)) {
    const rows = await parsed(path, () => parquetReadObjects({ ...slice, ...reading(buffer, metadata) }));
    for (const [index, row] of rows.entries()) {
      yield RawRow.inFile(path, slice.rowStart + index + 1, () => plain(row));
    }
  }
}

function reading(file: AsyncBuffer, metadata: FileMetaData) {
  return { file, metadata, compressors, useOffsetIndex: true };
}

function* slices({ row_groups }: FileMetaData): Generator<Slice> {
  let start = 0;
  for (const { num_rows, total_byte_size } of row_groups) {
    const end = start + Number(num_rows);
    const parts = Math.max(1, Math.ceil(Number(total_byte_size) / SLICE_BYTES));
    const size = Math.max(1, Math.ceil((end - start) / parts));
    for (; start < end; start += size) yield { rowStart: start, rowEnd: Math.min(start + size, end) };
    start = end;
  }
}

/** A file that is read where it is asked for, one read after the other as they share its place. */
function seekable(file: Deno.FsFile, byteLength: number): AsyncBuffer {
  let turn: Promise<unknown> = Promise.resolve();
  return {
    byteLength,
    slice(start, end = byteLength) {
      const reading = turn.then(() => readAt(file, start, Math.max(0, Math.min(end, byteLength) - start)));
      turn = reading.catch(() => {}); // whoever asked for it is told
      return reading;
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

async function parsed<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SyntaxError(`Cannot read tasks at ${path} as it must be Parquet: ${reason}`, { cause });
  }
}

/** The value without what JSON does not know. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, plain);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plain(field)]));
}
