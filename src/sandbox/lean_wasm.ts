import { join } from "./protocol.ts";

/** Sections of a WebAssembly module, by the number in front of each. */
const EXPORT = 7;
const DATA = 11;
const DATA_COUNT = 12;
const HEADER_BYTES = 8;

/**
 * A module without its data and with none but the named exports: what is left to load when the memory comes
 * from an image, which overwrites all data, and when nobody calls the other exports.
 */
export function leanWasm(wasm: Uint8Array, exportNames: ReadonlySet<string>): Uint8Array {
  const reader = new Reader(wasm, HEADER_BYTES);
  const pieces = [wasm.subarray(0, HEADER_BYTES)];
  while (!reader.atEnd) {
    const start = reader.at;
    const id = reader.byte();
    const body = reader.bytes(reader.number());
    if (id === DATA || id === DATA_COUNT) continue;
    if (id === EXPORT) pieces.push(section(id, someExports(body, exportNames)));
    else pieces.push(wasm.subarray(start, reader.at));
  }
  return join(pieces);
}

function someExports(body: Uint8Array, names: ReadonlySet<string>): Uint8Array {
  const reader = new Reader(body, 0);
  const entries: Uint8Array[] = [];
  for (let left = reader.number(); left > 0; left--) {
    const start = reader.at;
    const name = new TextDecoder().decode(reader.bytes(reader.number()));
    reader.byte();
    reader.number();
    if (names.has(name)) entries.push(body.subarray(start, reader.at));
  }
  return join([encodeNumber(entries.length), ...entries]);
}

function section(id: number, body: Uint8Array): Uint8Array {
  return join([new Uint8Array([id]), encodeNumber(body.length), body]);
}

/** Reads the numbers and strings that a module is made of. */
class Reader {
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  get atEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.at++] ?? 0;
  }

  bytes(count: number): Uint8Array {
    return this.#bytes.subarray(this.at, this.at += count);
  }

  /** An unsigned number in LEB128. */
  number(): number {
    let value = 0;
    for (let shift = 0;; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }
}

function encodeNumber(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; bytes.length === 0 || rest > 0; rest >>>= 7) {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  }
  return new Uint8Array(bytes);
}
