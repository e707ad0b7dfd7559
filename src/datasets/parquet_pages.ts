import { type AsyncBuffer, type FileMetaData, parquetSchema, readOffsetIndex } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { decompressPage } from "hyparquet/src/datapage.js";
import { deltaBinaryUnpack } from "hyparquet/src/delta.js";
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getTreePath } from "hyparquet/src/schema.js";
import type { Compressors, DataReader, PageHeader, SchemaTree } from "hyparquet/src/types.js";
import { countInRuns } from "./parquet_runs.ts";

type RowGroup = FileMetaData["row_groups"][number];
type ColumnChunk = RowGroup["columns"][number];
type ColumnMetaData = NonNullable<ColumnChunk["meta_data"]>;

/** Maximum size of a page after decompression, in bytes. Writers make pages of about 1 MiB. */
export const MAX_PAGE_BYTES: number = 256 * 1024 * 1024;
/** Maximum size of the pages of a row group, if that is more than 100 times the size of the file. */
const MAX_GROUP_BYTES = 256 * 1024 * 1024;
const MAX_EXPANSION = 100;
/** Maximum number of values of a row group, if that is more than 16 for each byte of the file. */
const MAX_GROUP_VALUES = 20_000_000;
const MAX_VALUES_PER_BYTE = 16;
/** Bytes in which the header of a page is searched first; the header has values for statistics, which may be long. */
const HEADER_BYTES = 4 * 1024;
const MAX_HEADER_BYTES = 1024 * 1024;

/** Limits of the pages of a row group together. */
interface Room {
  values: number;
  bytes: number;
}

/** Parts of a column that the column's pages need. */
interface Column {
  readonly chunk: ColumnMetaData;
  readonly path: SchemaTree[];
  readonly compressors: Compressors;
}

/**
 * Checks the pages of a row group before the library reads them. A page states the number of values and of bytes, and
 * the runs of a page state their lengths: a small file could take any amount of memory.
 *
 * @throws {RangeError} if a page has more values, bytes or longer runs than allowed.
 */
export async function requireBoundedPages(
  file: AsyncBuffer,
  { metadata, group, compressors }: { metadata: FileMetaData; group: RowGroup; compressors: Compressors },
): Promise<void> {
  const schema = parquetSchema(metadata);
  const room: Room = {
    values: Math.max(MAX_GROUP_VALUES, MAX_VALUES_PER_BYTE * file.byteLength),
    bytes: Math.max(MAX_GROUP_BYTES, MAX_EXPANSION * file.byteLength),
  };
  for (const column of group.columns) {
    const { meta_data: chunk } = column;
    if (chunk === undefined) throw new TypeError("a column must have its description: found none");
    const path = getTreePath(schema, chunk.path_in_schema);
    const walked = await walkPages(file, { chunk, path, compressors }, room);
    await requireKnownPages(file, column, walked);
  }
}

/** Pages of a column that were checked. */
interface WalkedPages {
  /** Positions of the pages in the file. */
  readonly starts: ReadonlySet<number>;
  /** Position after the last page. */
  readonly end: number;
}

async function walkPages(file: AsyncBuffer, column: Column, room: Room): Promise<WalkedPages> {
  const { chunk } = column;
  const starts = new Set<number>();
  let at = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
  const end = Math.min(file.byteLength, at + Number(chunk.total_compressed_size));
  while (at < end - 1) { // the library reads no page of a byte
    const { header, bytes } = await readHeader(file, at, end);
    const size = requireSize(header.compressed_page_size, end - at - bytes, "bytes to the end of its column");
    starts.add(at);
    const page = new Uint8Array(await file.slice(at + bytes, at + bytes + size));
    checkPage(page, header, column, room);
    at += bytes + size;
  }
  return { starts, end: at };
}

/** Reads the header of a page, and the header's size in bytes. */
async function readHeader(
  file: AsyncBuffer,
  at: number,
  end: number,
): Promise<{ header: PageHeader; bytes: number }> {
  for (let length = HEADER_BYTES;; length *= 16) {
    const view = new DataView(await file.slice(at, Math.min(end, at + length)));
    const reader = { view, offset: 0 };
    try {
      return { header: parquetHeader(reader), bytes: reader.offset };
    } catch (error) {
      if (view.byteLength < length || length >= MAX_HEADER_BYTES) throw error; // more bytes are of no use
    }
  }
}

/** Refuses an index that points to what is no page: the library reads the pages where an index has them. */
async function requireKnownPages(file: AsyncBuffer, column: ColumnChunk, walked: WalkedPages): Promise<void> {
  const { offset_index_offset: start, offset_index_length: length } = column;
  if (!start || !length) return;
  const view = new DataView(await file.slice(Number(start), Number(start) + length));
  for (const { offset, compressed_page_size } of readOffsetIndex({ view, offset: 0 }).page_locations) {
    const at = Number(offset);
    if (walked.starts.has(at) && at + compressed_page_size <= walked.end) continue;
    throw new RangeError(`the index of a column must have the positions of its pages: found ${at}`);
  }
}

function checkPage(packed: Uint8Array, header: PageHeader, column: Column, room: Room): void {
  const bytes = requireSize(header.uncompressed_page_size, MAX_PAGE_BYTES, "bytes");
  room.bytes -= bytes;
  if (room.bytes < 0) throw new RangeError("the pages of a row group have too many bytes for their file");
  const values = requireSize(statedValues(header), room.values, "values, with those before in its row group");
  room.values -= values;
  if (values === 0) return;
  if (header.type === "DATA_PAGE_V2") return checkPageV2(packed, header, column);
  const { data_page_header: head } = header;
  if (header.type !== "DATA_PAGE" || head === undefined) return;
  const page = readerOf(unpack(packed, bytes, column));
  skipLevels(page, { most: getMaxRepetitionLevel(column.path), values });
  const found = skipLevels(page, { most: getMaxDefinitionLevel(column.path), values, isCounted: true });
  const runs = column.chunk.type === "BOOLEAN" ? "booleans" : "indexes";
  if (isRuns(head.encoding)) checkRuns(page, { runs, values: found, mayBeEmpty: true });
  else checkValues(page, { encoding: head.encoding, values: found, column });
}

/** Returns the number of values that the library takes from a header; other headers of the page do not count. */
function statedValues(header: PageHeader): number | undefined {
  switch (header.type) {
    case "DATA_PAGE":
      return header.data_page_header?.num_values;
    case "DATA_PAGE_V2":
      return header.data_page_header_v2?.num_values;
    case "DICTIONARY_PAGE":
      return header.dictionary_page_header?.num_values;
    default:
      return undefined;
  }
}

function checkPageV2(packed: Uint8Array, header: PageHeader, column: Column): void {
  const { data_page_header_v2: head } = header;
  if (head === undefined) return;
  const { num_values: values, num_nulls: nulls } = head;
  const [repetitionBytes, definitionBytes] = [
    requireSize(head.repetition_levels_byte_length, packed.length, "bytes of levels"),
    requireSize(head.definition_levels_byte_length, packed.length, "bytes of levels"),
  ];
  requireSize(nulls, values, "nulls");
  const levels = readerOf(packed);
  const [repetition, definition] = [getMaxRepetitionLevel(column.path), getMaxDefinitionLevel(column.path)];
  if (repetition > 0) checkLevels(levels, { most: repetition, values });
  levels.offset = repetitionBytes;
  if (definition > 0) {
    checkLevels(levels, { most: definition, values });
    levels.offset = repetitionBytes + definitionBytes;
  }
  const rest = packed.subarray(levels.offset);
  const bytes = header.uncompressed_page_size - definitionBytes - repetitionBytes;
  const page = head.is_compressed === false
    ? rest
    : unpack(rest, requireSize(bytes, MAX_PAGE_BYTES, "bytes"), column);
  const runs = head.encoding === "RLE" ? "booleans" : "indexes";
  if (isRuns(head.encoding)) checkRuns(readerOf(page), { runs, values: values - nulls, mayBeEmpty: false });
  else checkValues(readerOf(page), { encoding: head.encoding, values: values - nulls, column });
}

/** Levels of the values of a page. */
interface Levels {
  readonly most: number;
  readonly values: number;
  /** True if the values of the highest level are counted: those that are not null. */
  readonly isCounted?: boolean;
}

/**
 * Checks levels that follow their length, and returns the number of values that are not null if that number is counted.
 */
function skipLevels(page: DataReader, levels: Levels): number {
  if (levels.most === 0) return levels.values;
  const length = page.view.getUint32(page.offset, true);
  page.offset += 4;
  const start = page.offset;
  const found = checkLevels(page, levels);
  page.offset = start + length;
  return found;
}

function checkLevels(reader: DataReader, { most, values, isCounted = false }: Levels): number {
  const width = 32 - Math.clz32(most);
  return countInRuns(reader, { width, count: values, wanted: isCounted ? most : undefined });
}

function isRuns(encoding: string): boolean {
  return ["RLE", "PLAIN_DICTIONARY", "RLE_DICTIONARY"].includes(encoding);
}

/**
 * Checks runs of values: booleans after their length, or indexes of a dictionary after the width of an index. Indexes
 * without width have no runs if `mayBeEmpty`.
 */
function checkRuns(
  page: DataReader,
  { runs, values, mayBeEmpty }: { runs: "booleans" | "indexes"; values: number; mayBeEmpty: boolean },
): void {
  if (runs === "booleans") page.offset += 4;
  const width = runs === "booleans" ? 1 : page.view.getUint8(page.offset++);
  if (width > 0 || !mayBeEmpty) countInRuns(page, { width, count: values });
}

/** Checks encodings in which few bytes can stand for many. In other encodings each value has separate bytes. */
function checkValues(
  page: DataReader,
  { encoding, values, column }: { encoding: string; values: number; column: Column },
): void {
  if (values === 0) return;
  const { type } = column.chunk;
  switch (encoding) {
    case "BYTE_STREAM_SPLIT": {
      const width = column.path.at(-1)?.element.type_length ?? 4;
      requireSize(
        values * (type === "FIXED_LEN_BYTE_ARRAY" ? width : 4),
        page.view.byteLength,
        "bytes of values",
      );
      return;
    }
    case "DELTA_BYTE_ARRAY":
      requireShortPrefixes(page, values);
  }
}

/** Checks the size of texts that share their beginnings with the ones before. */
function requireShortPrefixes(page: DataReader, values: number): void {
  let bytes = 0;
  for (const lengths of [new Int32Array(values), new Int32Array(values)]) {
    deltaBinaryUnpack(page, values, lengths);
    for (const length of lengths) bytes += Math.max(0, length);
  }
  requireSize(bytes, MAX_PAGE_BYTES, "bytes of texts");
}

function unpack(packed: Uint8Array, bytes: number, { chunk: { codec }, compressors }: Column): Uint8Array {
  return decompressPage(packed, bytes, codec, compressors);
}

function readerOf({ buffer, byteOffset, byteLength }: Uint8Array): DataReader {
  return { view: new DataView(buffer as ArrayBuffer, byteOffset, byteLength), offset: 0 };
}

function requireSize(found: number | undefined, most: number, what: string): number {
  if (found !== undefined && Number.isInteger(found) && found >= 0 && found <= most) return found;
  throw new RangeError(`a page must have from 0 to ${most} ${what}: found ${found}`);
}
