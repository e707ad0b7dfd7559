import { inflateSync } from "../../engine.ts";
import type { CommandFiles } from "../../gnu/command.ts";
import { fatal } from "./git_error.ts";
import type { GitObject, ObjectKind } from "./git_object.ts";

const KINDS: Readonly<Record<number, ObjectKind>> = { 1: "commit", 2: "tree", 3: "blob", 4: "tag" };
const [OFFSET_DELTA, REFERENCE_DELTA] = [6, 7];
const INDEX_SIGN = 0xff744f63;
const FAN_OUT_BYTES = 1024;
const HASH_BYTES = 20;

/** A pack with its index, as `git gc` and clones write them. */
export class PackFile {
  readonly count: number;
  readonly #files: CommandFiles;
  readonly #path: string;
  readonly #index: DataView;
  /** Start of the hashes in the index, and number of bytes from a hash to the next. */
  readonly #hashes: { readonly start: number; readonly step: number };
  #data: Uint8Array | undefined;

  /** @param path Path without `.idx`. */
  constructor(files: CommandFiles, path: string) {
    this.#files = files;
    this.#path = path;
    const bytes = files.read(`${path}.idx`);
    this.#index = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const isSecond = this.#index.getUint32(0) === INDEX_SIGN;
    if (isSecond && this.#index.getUint32(4) !== 2) fatal(`index file ${path}.idx has an unknown version`);
    const fanOut = isSecond ? 8 : 0;
    this.count = this.#index.getUint32(fanOut + FAN_OUT_BYTES - 4);
    this.#hashes = isSecond
      ? { start: fanOut + FAN_OUT_BYTES, step: HASH_BYTES }
      : { start: FAN_OUT_BYTES + 4, step: HASH_BYTES + 4 };
  }

  /** Returns the hashes that begin with some digits. */
  withPrefix(prefix: string): string[] {
    const found: string[] = [];
    for (let at = this.#lowerBound(prefix.padEnd(40, "0")); at < this.count; at++) {
      const id = this.#hashAt(at);
      if (!id.startsWith(prefix)) break;
      found.push(id);
    }
    return found;
  }

  /** Returns where an object is in the pack. */
  offsetOf(id: string): number | undefined {
    const at = this.#lowerBound(id);
    if (at >= this.count || this.#hashAt(at) !== id) return undefined;
    const { start, step } = this.#hashes;
    if (step !== HASH_BYTES) return this.#index.getUint32(FAN_OUT_BYTES + at * step);
    const offsets = start + this.count * (HASH_BYTES + 4);
    const offset = this.#index.getUint32(offsets + at * 4);
    if (offset < 0x80000000) return offset;
    return Number(this.#index.getBigUint64(offsets + this.count * 4 + (offset - 0x80000000) * 8));
  }

  /** Reads an object. `readBase` reads an object that a delta names by its hash. */
  read(offset: number, readBase: (id: string) => GitObject): GitObject {
    const deltas: Uint8Array[] = [];
    let object: GitObject | undefined;
    for (let at = offset; !object;) {
      const { type, size, next } = this.#readHead(at);
      const kind = KINDS[type];
      if (kind) {
        object = { kind, bytes: this.#inflate(next, size) };
      } else if (type === OFFSET_DELTA) {
        const { value, next: data } = readOffset(this.#bytes(), next);
        deltas.push(this.#inflate(data, size));
        at -= value;
      } else if (type === REFERENCE_DELTA) {
        const id = this.#bytes().subarray(next, next + HASH_BYTES).toHex();
        deltas.push(this.#inflate(next + HASH_BYTES, size));
        object = readBase(id);
      } else fatal(`unknown object type ${type} in pack ${this.#path}.pack`);
    }
    for (const delta of deltas.toReversed()) {
      object = { kind: object.kind, bytes: applyDelta(object.bytes, delta) };
    }
    return object;
  }

  #bytes(): Uint8Array {
    this.#data ??= this.#files.read(`${this.#path}.pack`);
    return this.#data;
  }

  #hashAt(index: number): string {
    const { start, step } = this.#hashes;
    const at = this.#index.byteOffset + start + index * step;
    return new Uint8Array(this.#index.buffer, at, HASH_BYTES).toHex();
  }

  /** Returns the position of the first hash that is not smaller. */
  #lowerBound(id: string): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#hashAt(middle) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #readHead(offset: number): { type: number; size: number; next: number } {
    const bytes = this.#bytes();
    let at = offset;
    let byte = bytes[at++] ?? 0;
    const type = byte >> 4 & 7;
    let size = byte & 15;
    for (let factor = 16; byte & 0x80; factor *= 128) {
      byte = bytes[at++] ?? 0;
      size += (byte & 0x7f) * factor;
    }
    return { type, size, next: at };
  }

  #inflate(start: number, size: number): Uint8Array {
    // Zlib adds at most five bytes to a block of 16 kB, and eleven to the whole.
    const end = start + size + Math.ceil(size / 16_000) * 5 + 64;
    const bytes = inflateSync(this.#bytes().subarray(start, end));
    if (bytes.length !== size) fatal(`packed object in ${this.#path}.pack is corrupt`);
    return bytes;
  }
}

/** Reads a number as packs and indexes of version 4 write offsets: seven bits a byte, the highest first. */
export function readOffset(bytes: Uint8Array, start: number): { value: number; next: number } {
  let at = start;
  let byte = bytes[at++] ?? 0;
  let value = byte & 0x7f;
  while (byte & 0x80) {
    byte = bytes[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return { value, next: at };
}

/** Applies a delta, which copies parts of its base and inserts bytes. */
export function applyDelta(base: Uint8Array, delta: Uint8Array): Uint8Array {
  let at = 0;
  const readSize = () => {
    let size = 0;
    for (let factor = 1;; factor *= 128) {
      const byte = delta[at++] ?? 0;
      size += (byte & 0x7f) * factor;
      if (!(byte & 0x80)) return size;
    }
  };
  if (readSize() !== base.length) fatal("a delta does not fit its base");
  const result = new Uint8Array(readSize());
  let filled = 0;
  while (at < delta.length) {
    const code = delta[at++] ?? 0;
    if (!(code & 0x80)) {
      result.set(delta.subarray(at, at + code), filled);
      at += code;
      filled += code;
      continue;
    }
    let [start, size] = [0, 0];
    for (let bit = 0; bit < 4; bit++) if (code & 1 << bit) start += (delta[at++] ?? 0) * 256 ** bit;
    for (let bit = 0; bit < 3; bit++) if (code & 16 << bit) size += (delta[at++] ?? 0) * 256 ** bit;
    if (size === 0) size = 0x10000;
    result.set(base.subarray(start, start + size), filled);
    filled += size;
  }
  return result;
}
