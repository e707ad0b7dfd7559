import { join } from "../../protocol.ts";

/** Bytes before the first section of a WebAssembly module. */
export const WASM_HEADER_BYTES = 8;

/** Reads the numbers and strings of a WebAssembly module. */
export class WasmReader {
  /** Offset of the next byte. */
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get atEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  /** @throws {SyntaxError} if there is no byte left. */
  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new SyntaxError("Cannot read WebAssembly module as it ends too early");
    return byte;
  }

  /** @throws {SyntaxError} if fewer bytes are left. */
  bytes(count: number): Uint8Array {
    const end = this.at + count;
    if (end > this.#bytes.length) {
      throw new SyntaxError("Cannot read WebAssembly module as it ends too early");
    }
    return this.#bytes.subarray(this.at, this.at = end);
  }

  /** Reads a string with its length. */
  text(): string {
    return new TextDecoder().decode(this.bytes(this.number()));
  }

  /** Reads an unsigned number in LEB128. */
  number(): number {
    let value = 0;
    for (let shift = 0;; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  /** Skips `count` numbers in LEB128, signed or unsigned. */
  skipNumbers(count: number): void {
    for (; count > 0; count--) while (this.byte() >= 0x80);
  }
}

/** A section of a WebAssembly module. */
export interface WasmSection {
  /** Id of its kind. */
  readonly id: number;
  readonly body: Uint8Array;
}

/** Yields the sections of a module in their order. */
export function* wasmSections(wasm: Uint8Array): Generator<WasmSection> {
  const reader = new WasmReader(wasm, WASM_HEADER_BYTES);
  while (!reader.atEnd) {
    const id = reader.byte();
    yield { id, body: reader.bytes(reader.number()) };
  }
}

/** Returns the body of the first section of a kind. If there is none, the body has no entries. */
export function sectionBody(sections: readonly WasmSection[], id: number): Uint8Array {
  return sections.find((section) => section.id === id)?.body ?? new Uint8Array([0]);
}

/** Returns an unsigned number in LEB128. */
export function encodeNumber(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; bytes.length === 0 || rest > 0; rest >>>= 7) {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  }
  return new Uint8Array(bytes);
}

/** Returns a positive number in signed LEB128. */
export function encodeSigned(value: number | bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest >= 0x40n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}

/** Returns a section as pieces of bytes. */
function encodeSection({ id, body }: WasmSection): Uint8Array[] {
  return [new Uint8Array([id]), encodeNumber(body.length), body];
}

/** Returns a module with a header and sections. */
export function encodeModule(header: Uint8Array, sections: Iterable<WasmSection>): Uint8Array<ArrayBuffer> {
  return join([header, ...[...sections].flatMap(encodeSection)]);
}

/** Ids of the sections of a WebAssembly module. */
export const CUSTOM = 0;
export const TYPE = 1;
export const IMPORT = 2;
export const FUNCTION = 3;
export const TABLE = 4;
export const MEMORY = 5;
export const GLOBAL = 6;
export const EXPORT = 7;
export const ELEMENT = 9;
export const CODE = 10;
export const DATA = 11;
const DATA_COUNT = 12;
/** Kinds of exports. */
const [FUNCTION_KIND, GLOBAL_KIND] = [0, 3];

/** Kind of an active segment of memory or table 0, and the instructions of its offset. */
const [PLAIN_SEGMENT, I32_CONST, END] = [0, 0x41, 0x0b];

/** An import of a module. */
export interface WasmImport {
  readonly module: string;
  readonly name: string;
  readonly kind: "function" | "table" | "memory" | "global" | "tag";
  /** Index of a function's type; 0 for other kinds. */
  readonly type: number;
}

/** Imports of a module. The indices of its imported functions and globals precede the indices of its own. */
export interface WasmImports {
  readonly entries: readonly WasmImport[];
  /** Names of the functions, in the order of their indices. */
  readonly functions: readonly string[];
  /** Number of globals. */
  readonly globals: number;
}

const IMPORT_KINDS = ["function", "table", "memory", "global", "tag"] as const;

/** Reads the body of the import section. */
export function readImports(body: Uint8Array): WasmImports {
  const reader = new WasmReader(body);
  const entries: WasmImport[] = [];
  for (let left = reader.number(); left > 0; left--) {
    const [module, name, kind] = [reader.text(), reader.text(), IMPORT_KINDS[reader.byte()]];
    if (!kind) {
      throw new SyntaxError(`Cannot read import '${name}' of WebAssembly module: its kind is unknown`);
    }
    entries.push({ module, name, kind, type: kind === "function" ? reader.number() : 0 });
    if (kind === "table") reader.byte();
    if (kind === "table" || kind === "memory") reader.skipNumbers(reader.number() & 1 ? 2 : 1);
    if (kind === "global" || kind === "tag") reader.skipNumbers(2);
  }
  return {
    entries,
    functions: entries.filter(({ kind }) => kind === "function").map(({ name }) => name),
    globals: entries.filter(({ kind }) => kind === "global").length,
  };
}

/** Index of each exported function and global, by its name. */
export interface WasmExports {
  readonly functions: ReadonlyMap<string, number>;
  readonly globals: ReadonlyMap<string, number>;
  /** Names of all exports, of every kind. */
  readonly names: ReadonlySet<string>;
}

/** Reads the body of the export section. */
export function readExports(body: Uint8Array): WasmExports {
  const reader = new WasmReader(body);
  const functions = new Map<string, number>();
  const globals = new Map<string, number>();
  const names = new Set<string>();
  for (let left = reader.number(); left > 0; left--) {
    const name = reader.text();
    names.add(name);
    const kind = reader.byte();
    const index = reader.number();
    if (kind === FUNCTION_KIND) functions.set(name, index);
    if (kind === GLOBAL_KIND) globals.set(name, index);
  }
  return { functions, globals, names };
}

/**
 * Returns a code section with one function changed.
 *
 * @param index Index among the functions of the module itself, without imported ones.
 */
export function changeFunction(
  body: Uint8Array,
  index: number,
  change: (code: Uint8Array) => Uint8Array,
): Uint8Array {
  const reader = new WasmReader(body);
  reader.number();
  for (let left = index; left > 0; left--) reader.bytes(reader.number());
  const before = body.subarray(0, reader.at);
  const changed = change(reader.bytes(reader.number()));
  return join([before, encodeNumber(changed.length), changed, body.subarray(reader.at)]);
}

/**
 * Yields each slot that the segments of functions fill in the first table.
 *
 * @param body Body of the element section.
 * @throws {SyntaxError} if a segment is not at a fixed slot.
 */
export function* tableEntries(body: Uint8Array): Generator<{ slot: number; index: number }> {
  const reader = new WasmReader(body);
  for (let left = reader.number(); left > 0; left--) {
    let slot = reader.number() === PLAIN_SEGMENT ? readOffset(reader) : undefined;
    if (slot === undefined) {
      throw new SyntaxError("Cannot read table of WebAssembly module as a segment is not at a fixed slot");
    }
    for (let functions = reader.number(); functions > 0; functions--, slot++) {
      yield { slot, index: reader.number() };
    }
  }
}

/**
 * Yields the segments of the memory that have a fixed address.
 *
 * @param body Body of the data section.
 */
export function* dataSegments(body: Uint8Array): Generator<{ address: number; bytes: Uint8Array }> {
  const reader = new WasmReader(body);
  for (let left = reader.number(); left > 0; left--) {
    const address = reader.number() === PLAIN_SEGMENT ? readOffset(reader) : undefined;
    const bytes = reader.bytes(reader.number());
    if (address !== undefined) yield { address, bytes };
  }
}

/** Reads the offset of a segment. Returns undefined if it is not a number. */
function readOffset(reader: WasmReader): number | undefined {
  if (reader.byte() !== I32_CONST) return undefined;
  const offset = reader.number();
  return reader.byte() === END ? offset : undefined;
}

/** Returns the index of a module's largest function, among all functions. In CPython's module it is the interpreter's loop. */
export function largestFunction(wasm: Uint8Array): number {
  let imported = 0;
  let largest = { index: 0, bytes: 0 };
  for (const { id, body } of wasmSections(wasm)) {
    if (id === IMPORT) imported = readImports(body).functions.length;
    if (id !== CODE) continue;
    const reader = new WasmReader(body);
    const count = reader.number();
    for (let own = 0; own < count; own++) {
      const bytes = reader.number();
      reader.bytes(bytes);
      if (bytes > largest.bytes) largest = { index: imported + own, bytes };
    }
  }
  return largest.index;
}

/** Options of {@linkcode stripWasm}. */
export interface StripWasmOptions {
  /** Names of the exported functions that are kept. By default all are. */
  functions?: ReadonlySet<string>;
  /** False to remove the data. An interpreter that is restored from an image needs none: the image overwrites it. */
  data: boolean;
}

/** Returns a module whose only exported functions are the called functions. */
export function stripWasm(wasm: Uint8Array, options: StripWasmOptions): Uint8Array<ArrayBuffer> {
  return encodeModule(wasm.subarray(0, WASM_HEADER_BYTES), leanSections(wasm, options));
}

function* leanSections(wasm: Uint8Array, options: StripWasmOptions): Generator<WasmSection> {
  for (const { id, body } of wasmSections(wasm)) {
    if (!options.data && (id === DATA || id === DATA_COUNT)) continue;
    const { functions } = options;
    yield { id, body: id === EXPORT && functions ? filterExports(body, functions) : body };
  }
}

function filterExports(body: Uint8Array, functions: ReadonlySet<string>): Uint8Array {
  const reader = new WasmReader(body);
  const entries: Uint8Array[] = [];
  for (let left = reader.number(); left > 0; left--) {
    const start = reader.at;
    const name = reader.text();
    const kind = reader.byte();
    reader.number();
    if (kind !== FUNCTION_KIND || functions.has(name)) entries.push(body.subarray(start, reader.at));
  }
  return join([encodeNumber(entries.length), ...entries]);
}
