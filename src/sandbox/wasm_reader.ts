/** Bytes before the first section of a WebAssembly module. */
export const WASM_HEADER_BYTES = 8;

/** Reads the numbers and strings that a WebAssembly module is made of. */
export class WasmReader {
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at = 0) {
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

  /** A name or another string. */
  text(): string {
    return new TextDecoder().decode(this.bytes(this.number()));
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

  /** Passes over `count` numbers in LEB128, signed or not. */
  skipNumbers(count: number): void {
    for (; count > 0; count--) while (this.byte() >= 0x80);
  }
}

/** A section of a WebAssembly module. */
export interface WasmSection {
  /** The number that says what it is. */
  readonly id: number;
  readonly body: Uint8Array;
}

/** The sections of a module, in their order. */
export function* wasmSections(wasm: Uint8Array): Generator<WasmSection> {
  const reader = new WasmReader(wasm, WASM_HEADER_BYTES);
  while (!reader.atEnd) {
    const id = reader.byte();
    yield { id, body: reader.bytes(reader.number()) };
  }
}
