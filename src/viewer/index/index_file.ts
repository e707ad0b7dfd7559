import { concat } from "@std/bytes";
import * as z from "zod";
import { MAX_PARTS } from "./episode_columns.ts";
import {
  COLUMN_NAMES,
  columnOf,
  type Columns,
  EpisodeTable,
  LAYOUT,
  SHORT_COLUMNS,
  type ShortNames,
} from "./episode_table.ts";
import { NameTable } from "./name_table.ts";

/** Suffix of the index beside a file of episodes. */
export const INDEX_SUFFIX = ".paddock-index";

const MAGIC = "paddock-index-5\n";
/** Bytes of the magic text and the length of the header. */
const PREFIX_BYTES = MAGIC.length + 8;
const MAX_HEADER_BYTES = 1024 * 1024;

/** State of the file that an index describes. */
const fileStateSchema = z.object({
  /** Size of the file in bytes. */
  size: z.number(),
  /** Time of the last change, in milliseconds. */
  mtimeMs: z.number(),
  /** Bytes that were read. Less than `size` if the file has grown. */
  indexedBytes: z.number(),
  /** True if the last row has no newline yet. */
  isOpen: z.boolean(),
  /** Hash of the beginning and of the end of the bytes that were read. */
  fingerprint: z.string(),
});

/** State of the file that an index describes. */
export type FileState = z.output<typeof fileStateSchema>;

const headerSchema = z.object({
  layout: z.literal(LAYOUT),
  state: fileStateSchema,
  count: z.int().min(0),
  names: z.int().min(1),
  nameBytes: z.int().min(0),
  shortNames: z.object(Object.fromEntries(SHORT_COLUMNS.map((name) => [name, z.array(z.string())]))),
  parts: z.array(z.string()).max(MAX_PARTS),
});

/** An index in the stored form. */
export interface StoredIndex {
  readonly table: EpisodeTable;
  readonly state: FileState;
}

/**
 * Writes an index to a file, which appears when the index is complete. Layout: a magic text, the length of the header,
 * the header as JSON, then the columns, the parts of the rewards and the names, each at a multiple of 8 bytes.
 */
export async function writeIndex(path: string, { table, state }: StoredIndex): Promise<void> {
  const { bytes, ends } = table.names.toStored();
  const header = new TextEncoder().encode(JSON.stringify({
    layout: LAYOUT,
    state,
    count: table.count,
    names: ends.length,
    nameBytes: bytes.length,
    shortNames: table.shortNames,
    parts: [...table.parts.keys()],
  }));
  const prefix = new Uint8Array(PREFIX_BYTES);
  prefix.set(new TextEncoder().encode(MAGIC));
  new DataView(prefix.buffer).setUint32(MAGIC.length, header.length, true);
  const columns = [...COLUMN_NAMES.map((name) => table.columns[name]), ...table.parts.values()];
  const numbers = columns.map((column) => bytesOf(column.subarray(0, table.count)));
  const sections = [prefix, header, ...numbers, bytesOf(ends), bytes];
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    await Deno.writeFile(temporary, concat(sections.map(padded)), { createNew: true });
    await Deno.rename(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {}); // the file may not have been created
    throw error;
  }
}

/** Reads an index. Returns `undefined` if there is no file, or {@linkcode writeIndex} has not written the file. */
export async function readIndex(path: string): Promise<StoredIndex | undefined> {
  try {
    const { isFile } = await Deno.lstat(path);
    return isFile ? parseIndex(await Deno.readFile(path)) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return undefined;
    }
    if (error instanceof RangeError || error instanceof SyntaxError || error instanceof z.core.$ZodError) {
      return undefined; // the index is cut off or of another version, and is built again
    }
    throw error;
  }
}

function parseIndex(file: Uint8Array<ArrayBuffer>): StoredIndex | undefined {
  const decoder = new TextDecoder();
  if (decoder.decode(file.subarray(0, MAGIC.length)) !== MAGIC) return undefined;
  const headerBytes = new DataView(file.buffer).getUint32(MAGIC.length, true);
  if (headerBytes > MAX_HEADER_BYTES) return undefined;
  let offset = paddedLength(PREFIX_BYTES);
  const text = decoder.decode(file.subarray(offset, offset + headerBytes));
  const header = z.parse(headerSchema, JSON.parse(text));
  const { state, count, names, nameBytes, parts: partNames } = header;
  const shortNames = header.shortNames as ShortNames;
  offset += paddedLength(headerBytes);
  const columns = Object.fromEntries(COLUMN_NAMES.map((name) => {
    const column = columnOf(name, file.buffer, offset, count);
    offset += paddedLength(column.byteLength);
    return [name, column];
  })) as Columns;
  const parts = new Map(partNames.map((name) => {
    const part = new Float32Array(file.buffer, offset, count);
    offset += paddedLength(part.byteLength);
    return [name, part];
  }));
  const ends = new Uint32Array(file.buffer, offset, names);
  offset += paddedLength(ends.byteLength);
  const bytes = new Uint8Array(file.buffer, offset, nameBytes);
  return {
    table: new EpisodeTable({ columns, parts, count, names: new NameTable({ bytes, ends }), shortNames }),
    state,
  };
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function padded(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(paddedLength(bytes.length));
  result.set(bytes);
  return result;
}

function paddedLength(length: number): number {
  return Math.ceil(length / 8) * 8;
}
