import { bytesOf, type CommandFiles, type FileStatus, statusOf, textOf } from "../../gnu/command.ts";
import { fatal } from "./git_error.ts";
import { sha1 } from "./sha1.ts";
import type { TreeFile } from "./tree_object.ts";
import { readOffset } from "./pack_file.ts";

/** What a file was when its contents were compared with the index last. */
export interface CachedStatus {
  readonly changedMs: number;
  readonly size: number;
  readonly inode: number;
}

/** A file of the index. */
export interface IndexEntry extends TreeFile {
  /** Absent if the file has to be read to know whether it changed. */
  readonly status?: CachedStatus;
  /** True if the file is to be added, and only its name is known. */
  readonly isIntent?: boolean;
  /** Bits that are kept: assume-unchanged and skip-worktree. */
  readonly isAssumed?: boolean;
  readonly isSkipped?: boolean;
}

const HEAD_BYTES = 12;
const ENTRY_BYTES = 62;
const EXTENDED = 0x4000;
const ASSUMED = 0x8000;
const [SKIPPED, INTENT] = [0x4000, 0x2000];
const NAME_MASK = 0xfff;
const HASH_BYTES = 20;

/** The index of a repository: the files of the next commit. */
export class IndexFile {
  readonly entries = new Map<string, IndexEntry>();
  /** Files with conflicts of a merge, which other programs may leave: stage by stage. */
  readonly conflicts = new Map<string, ReadonlyMap<number, TreeFile>>();
  readonly #files: CommandFiles;
  readonly #path: string;
  /** Time at which the index was written. A file that changed since may have changed without a new size or time. */
  readonly #writtenMs: number;

  constructor(files: CommandFiles, path: string) {
    this.#files = files;
    this.#path = path;
    const status = statusOf(files, path);
    this.#writtenMs = status?.changedMs ?? 0;
    if (status) this.#read(files.read(path));
  }

  /** True if a file is surely as its entry says, without a look at its contents. */
  isSurelyEqual(entry: IndexEntry, { changedMs, size, inode }: FileStatus): boolean {
    const known = entry.status;
    return known !== undefined && known.size === size && known.inode === (inode | 0) >>> 0 &&
      Math.floor(known.changedMs) === Math.floor(changedMs) && changedMs < this.#writtenMs;
  }

  /** Writes the index with the entries in the order of their paths. */
  write(): void {
    const parts: Uint8Array[] = [];
    const rows = [
      ...[...this.entries].map(([path, entry]) => ({ path, entry, stage: 0 })),
      ...[...this.conflicts].flatMap(([path, stages]) =>
        [...stages].map(([stage, entry]) => ({ path, entry: entry as IndexEntry, stage }))
      ),
    ].sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : a.stage - b.stage);
    const isExtended = rows.some(({ entry }) => entry.isIntent || entry.isSkipped);
    const head = new Uint8Array(HEAD_BYTES);
    head.set(bytesOf("DIRC"));
    const view = new DataView(head.buffer);
    view.setUint32(4, isExtended ? 3 : 2);
    view.setUint32(8, rows.length);
    parts.push(head, ...rows.map(({ path, entry, stage }) => entryBytes(path, entry, stage)));
    const body = joinBytes(parts);
    this.#files.write(this.#path, joinBytes([body, Uint8Array.fromHex(sha1(body))]));
  }

  #read(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (bytes.length < HEAD_BYTES + HASH_BYTES || textOf(bytes.subarray(0, 4)) !== "DIRC") {
      fatal("index file corrupt");
    }
    const version = view.getUint32(4);
    if (version < 2 || version > 4) {
      fatal(`index uses version ${version}, which is not available in the sandbox`);
    }
    let at = HEAD_BYTES;
    let path = "";
    for (let left = view.getUint32(8); left > 0; left--) {
      const start = at;
      const flags = view.getUint16(at + ENTRY_BYTES - 2);
      at += ENTRY_BYTES;
      const extended = flags & EXTENDED ? view.getUint16(at) : 0;
      if (flags & EXTENDED) at += 2;
      if (version === 4) {
        const { value, next } = readOffset(bytes, at);
        const end = bytes.indexOf(0, next);
        path = path.slice(0, path.length - value) + textOf(bytes.subarray(next, end));
        at = end + 1;
      } else {
        const end = bytes.indexOf(0, at);
        path = textOf(bytes.subarray(at, end));
        at = start + (Math.floor((end - start) / 8) + 1) * 8;
      }
      const file: TreeFile = {
        mode: view.getUint32(start + 24),
        id: bytes.subarray(start + 40, start + 60).toHex(),
      };
      const stage = flags >> 12 & 3;
      if (stage > 0) {
        this.conflicts.set(path, new Map([...this.conflicts.get(path) ?? [], [stage, file]]));
        continue;
      }
      const changedMs = view.getUint32(start + 8) * 1000 + view.getUint32(start + 12) / 1e6;
      this.entries.set(path, {
        ...file,
        status: { changedMs, size: view.getUint32(start + 36), inode: view.getUint32(start + 20) },
        ...(extended & INTENT && { isIntent: true }),
        ...(extended & SKIPPED && { isSkipped: true }),
        ...(flags & ASSUMED && { isAssumed: true }),
      });
    }
    this.#requireKnownExtensions(bytes, at);
  }

  /** Ends the command if the index has an extension that changes what its entries mean. */
  #requireKnownExtensions(bytes: Uint8Array, start: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = start; at + 8 <= bytes.length - HASH_BYTES; at += 8 + view.getUint32(at + 4)) {
      const name = textOf(bytes.subarray(at, at + 4));
      if (/^[a-z]/.test(name)) fatal(`index uses ${name} extension, which is not available in the sandbox`);
    }
  }
}

/** Returns the status of a file as the index keeps it. */
export function cachedStatus({ changedMs, size, inode }: FileStatus): CachedStatus {
  return { changedMs, size, inode: (inode | 0) >>> 0 };
}

function entryBytes(path: string, entry: IndexEntry, stage: number): Uint8Array {
  const extended = (entry.isIntent ? INTENT : 0) | (entry.isSkipped ? SKIPPED : 0);
  const length = ENTRY_BYTES + (extended ? 2 : 0) + path.length;
  const bytes = new Uint8Array((Math.floor(length / 8) + 1) * 8);
  const view = new DataView(bytes.buffer);
  const { changedMs = 0, size = 0, inode = 0 } = entry.status ?? {};
  for (const at of [0, 8]) {
    view.setUint32(at, Math.floor(changedMs / 1000));
    view.setUint32(at + 4, Math.round((changedMs % 1000) * 1e6));
  }
  view.setUint32(20, inode);
  view.setUint32(24, entry.mode);
  view.setUint32(36, size);
  bytes.set(Uint8Array.fromHex(entry.id), 40);
  const flags = Math.min(path.length, NAME_MASK) | stage << 12 | (extended ? EXTENDED : 0) |
    (entry.isAssumed ? ASSUMED : 0);
  view.setUint16(60, flags);
  if (extended) view.setUint16(62, extended);
  bytes.set(bytesOf(path), ENTRY_BYTES + (extended ? 2 : 0));
  return bytes;
}

/** Joins bytes. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
