import { createHash } from "node:crypto";
import { checkJsonLimits } from "../../json.ts";
import { EpisodeTable } from "./episode_table.ts";
import { factsOf } from "./episode_columns.ts";
import { type FileState, INDEX_SUFFIX, readIndex, type StoredIndex, writeIndex } from "./index_file.ts";

/** Bytes of a row that is parsed. A longer row is listed and can be downloaded, but not shown. */
export const MAX_PARSED_BYTES = 64 * 1024 * 1024;
/** Rows above this size are checked before they are parsed, as a small text can hold millions of values. */
const CHECKED_BYTES = 1024 * 1024;
/** Limits of such a row. */
const ROW_LIMITS = { depth: 256, values: 8_000_000 };
/** Files below this size are read faster than an index is worth. */
const MIN_SAVED_BYTES = 4 * 1024 * 1024;
const READ_BYTES = 4 * 1024 * 1024;
/** Bytes of the beginning and of the end that show whether a file has only grown. */
const FINGERPRINT_BYTES = 16 * 1024;

const NEWLINE = 10;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Options of {@linkcode openIndex}. */
export interface OpenIndexOptions {
  /** An index of an earlier state of the file. */
  previous?: StoredIndex | undefined;
  /** Called with the share of the file that is read, from 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the index of a file: the previous index, or the index beside the file, if size and time are the same.
 * Otherwise reads the appended bytes, or the whole file if the beginning has changed. The index of a large file is
 * saved beside the file, if the folder can be written.
 */
export async function openIndex(path: string, options: OpenIndexOptions = {}): Promise<StoredIndex> {
  const { onProgress, signal } = options;
  using file = await Deno.open(path);
  const { size, mtime } = await file.stat();
  const mtimeMs = mtime?.getTime() ?? 0;
  const indexPath = `${path}${INDEX_SUFFIX}`;
  const isSaved = options.previous === undefined;
  const stored = options.previous ?? await readIndex(indexPath);
  if (stored?.state.size === size && stored.state.mtimeMs === mtimeMs) return stored;
  const base = stored && await hasGrown(file, stored.state, size) ? stored : undefined;
  const table = base?.table ?? new EpisodeTable();
  if (base?.state.isOpen) table.removeLast();
  const reader = new RowReader(file, base?.state.indexedBytes ?? 0);
  let reported = 0;
  let isOpen = false;
  for await (const { offset, bytes, isEnded, length } of reader.rows(signal)) {
    const facts = bytes && readFacts(bytes);
    if (!isEnded && facts === undefined) break; // the line is still being written, or was cut off
    isOpen = !isEnded;
    if (length > 0) table.append({ offset, length }, facts);
    if (offset - reported > READ_BYTES) onProgress?.((reported = offset) / size);
  }
  const state: FileState = {
    size,
    mtimeMs,
    indexedBytes: reader.endedBytes,
    isOpen,
    fingerprint: await fingerprintOf(file, reader.endedBytes),
  };
  const index = { table, state };
  if (isSaved && size >= MIN_SAVED_BYTES) {
    await writeIndex(indexPath, index).catch(() => {}); // a folder that cannot be written has no index
  }
  return index;
}

function readFacts(bytes: Uint8Array): ReturnType<typeof factsOf> {
  try {
    return factsOf(parseRowBytes(bytes));
  } catch {
    return undefined; // no JSON: the row is listed as damaged
  }
}

/**
 * Parses the bytes of a row.
 *
 * @throws {SyntaxError} if they are not JSON, or too large.
 * @throws {TypeError} if they are not UTF-8.
 */
export function parseRowBytes(bytes: Uint8Array): unknown {
  if (bytes.length > CHECKED_BYTES) checkJsonLimits(bytes, ROW_LIMITS);
  return JSON.parse(decoder.decode(bytes));
}

/** A line of the file. */
interface FileRow {
  readonly offset: number;
  /** Length in bytes without the newline; 0 for an empty line. */
  readonly length: number;
  /** Bytes, valid until the next row; left out if there are more than {@linkcode MAX_PARSED_BYTES}. */
  readonly bytes?: Uint8Array;
  /** False for a last line without newline. */
  readonly isEnded: boolean;
}

/** Reads the lines of a file from an offset, and keeps at most one line in memory. */
class RowReader {
  readonly #file: Deno.FsFile;
  /** Position after the last newline. */
  endedBytes: number;

  constructor(file: Deno.FsFile, offset: number) {
    this.#file = file;
    this.endedBytes = offset;
  }

  async *rows(signal?: AbortSignal): AsyncGenerator<FileRow> {
    await this.#file.seek(this.endedBytes, Deno.SeekMode.Start);
    let buffer = new Uint8Array(READ_BYTES);
    let filled = 0;
    let dropped = 0; // bytes of the current line that are not in the buffer
    while (true) {
      signal?.throwIfAborted();
      const read = await this.#file.read(buffer.subarray(filled));
      if (read === null) break;
      const end = filled + read;
      let start = 0;
      for (
        let at = buffer.indexOf(NEWLINE, filled);
        at !== -1 && at < end;
        at = buffer.indexOf(NEWLINE, start)
      ) {
        const length = dropped + at - start;
        const bytes = dropped === 0 && length <= MAX_PARSED_BYTES
          ? { bytes: buffer.subarray(start, at) }
          : {};
        const offset = this.endedBytes;
        this.endedBytes += length + 1;
        yield { offset, length, ...bytes, isEnded: true };
        dropped = 0;
        start = at + 1;
      }
      filled = end - start;
      if (dropped > 0 || filled > MAX_PARSED_BYTES) {
        dropped += filled;
        filled = 0;
      } else if (start > 0) buffer.copyWithin(0, start, end);
      else if (filled > buffer.length / 2) buffer = enlarged(buffer, filled);
    }
    const length = dropped + filled;
    const bytes = dropped === 0 ? { bytes: buffer.subarray(0, filled) } : {};
    if (length > 0) yield { offset: this.endedBytes, length, ...bytes, isEnded: false };
  }
}

function enlarged(buffer: Uint8Array<ArrayBuffer>, filled: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(buffer.length * 2);
  larger.set(buffer.subarray(0, filled));
  return larger;
}

/** True if the bytes that were read are still the beginning of the file. */
async function hasGrown(file: Deno.FsFile, state: FileState, size: number): Promise<boolean> {
  return size >= state.size && await fingerprintOf(file, state.indexedBytes) === state.fingerprint;
}

async function fingerprintOf(file: Deno.FsFile, indexedBytes: number): Promise<string> {
  const hash = createHash("sha256").update(`${indexedBytes}\n`);
  for (const offset of [0, Math.max(0, indexedBytes - FINGERPRINT_BYTES)]) {
    hash.update(
      await readFileRange(file, { offset, length: Math.min(FINGERPRINT_BYTES, indexedBytes - offset) }),
    );
  }
  return hash.digest("base64url");
}

/** Reads a part of a file. The result is shorter if the file is. */
export async function readFileRange(
  file: Deno.FsFile,
  { offset, length }: { offset: number; length: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  await file.seek(offset, Deno.SeekMode.Start);
  let filled = 0;
  while (filled < length) {
    const read = await file.read(bytes.subarray(filled));
    if (read === null) break;
    filled += read;
  }
  return bytes.subarray(0, filled);
}
