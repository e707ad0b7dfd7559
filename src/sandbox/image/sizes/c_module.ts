import { join } from "../../protocol.ts";
import {
  CODE,
  DATA,
  dataSegments,
  ELEMENT,
  encodeModule,
  encodeNumber,
  EXPORT,
  FUNCTION,
  GLOBAL,
  IMPORT,
  readExports,
  readImports,
  sectionBody,
  tableEntries,
  WASM_HEADER_BYTES,
  type WasmExports,
  WasmReader,
  type WasmSection,
  wasmSections,
} from "../wasm.ts";
import { StaticData } from "./static_data.ts";

const [CALL, I32_CONST] = [0x10, 0x41];
/** A variable of 32 bits that can be changed, and begins with 0. */
const ZERO_GLOBAL = [0x7f, 1, I32_CONST, 0, 0x0b];
/** Bytes of the longest number of 32 bits in LEB128. */
const MAX_NUMBER_BYTES = 5;

/** CPython's module, whose functions can be changed. Functions are counted with the imported ones. */
export class CModule {
  readonly #header: Uint8Array;
  readonly #sections: readonly WasmSection[];
  readonly #exports: WasmExports;
  readonly #imported: { readonly functions: number; readonly globals: number };
  /** Type of each function that is not imported. */
  readonly #types: number[];
  /** Locals and instructions of each function that is not imported. */
  readonly #codes: Uint8Array[];
  #addedGlobals = 0;

  constructor(wasm: Uint8Array) {
    this.#header = wasm.subarray(0, WASM_HEADER_BYTES);
    this.#sections = [...wasmSections(wasm)];
    this.#exports = readExports(this.#body(EXPORT));
    const { functions, globals } = readImports(this.#body(IMPORT));
    this.#imported = { functions: functions.length, globals };
    const types = new WasmReader(this.#body(FUNCTION));
    this.#types = Array.from({ length: types.number() }, () => types.number());
    const codes = new WasmReader(this.#body(CODE));
    this.#codes = Array.from({ length: codes.number() }, () => codes.bytes(codes.number()));
  }

  /** Returns the index of an exported function. */
  functionOf(name: string): number {
    return exported(this.#exports.functions, name);
  }

  /** Returns the index of an exported global. */
  globalOf(name: string): number {
    return exported(this.#exports.globals, name);
  }

  /** Returns the address of an exported variable of C. */
  addressOf(name: string): number {
    const reader = new WasmReader(this.#body(GLOBAL));
    const index = this.globalOf(name) - this.#imported.globals;
    reader.number();
    for (let left = index; left > 0; left--) {
      reader.bytes(3); // type, mutability, instruction
      reader.skipNumbers(1);
      reader.byte();
    }
    const [, , instruction] = reader.bytes(3);
    if (index < 0 || instruction !== I32_CONST) throw new SyntaxError(`Cannot read address of '${name}'`);
    return reader.number();
  }

  /** Reads the memory and the table with which the module starts. */
  staticData(): StaticData {
    return new StaticData(dataSegments(this.#body(DATA)), tableEntries(this.#body(ELEMENT)));
  }

  /** Returns whether a function calls another one. */
  calls(index: number, callee: number): boolean {
    return findSequence(this.#code(index), callOf(callee)) >= 0;
  }

  /** Returns the functions that a function may call: bytes in constants can look like a call. */
  callees(index: number): number[] {
    const code = this.#code(index);
    const found: number[] = [];
    for (let at = code.indexOf(CALL); at >= 0; at = code.indexOf(CALL, at + 1)) {
      if (at + MAX_NUMBER_BYTES < code.length) found.push(new WasmReader(code, at + 1).number());
    }
    return found;
  }

  /**
   * Replaces each call of a function in the code of another one.
   *
   * @param before Instructions in front of the new call.
   * @throws {SyntaxError} if there is no such call.
   */
  replaceCalls(index: number, from: number, { to, before = [] }: NewCall): void {
    const old = callOf(from);
    const parts: Uint8Array[] = [];
    let code = this.#code(index);
    for (let at = findSequence(code, old); at >= 0; at = findSequence(code, old)) {
      parts.push(code.subarray(0, at), new Uint8Array([...before, ...callOf(to)]));
      code = code.subarray(at + old.length);
    }
    if (parts.length === 0) throw new SyntaxError(`Cannot replace call as function ${index} has none`);
    this.#codes[index - this.#imported.functions] = join([...parts, code]);
  }

  /** Adds a function with the type of another one, and returns its index. By default it has the code of that one too. */
  addFunction(like: number, code: Uint8Array = this.#code(like)): number {
    const own = like - this.#imported.functions;
    this.#types.push(this.#types[own] ?? 0);
    return this.#imported.functions + this.#codes.push(code) - 1;
  }

  /** Adds a variable that is 0 at first, and returns its index. */
  addGlobal(): number {
    const own = new WasmReader(this.#body(GLOBAL)).number();
    return this.#imported.globals + own + this.#addedGlobals++;
  }

  /** Inserts instructions at the beginning of a function. */
  prepend(index: number, instructions: Uint8Array): void {
    const code = this.#code(index);
    const reader = new WasmReader(code);
    for (let groups = reader.number(); groups > 0; groups--) reader.skipNumbers(2);
    this.#codes[index - this.#imported.functions] = join([
      code.subarray(0, reader.at),
      instructions,
      code.subarray(reader.at),
    ]);
  }

  /** Returns the bytes of the changed module. */
  encode(): Uint8Array<ArrayBuffer> {
    const bodies = new Map([
      [GLOBAL, this.#globals()],
      [FUNCTION, join([encodeNumber(this.#types.length), ...this.#types.map(encodeNumber)])],
      [
        CODE,
        join([
          encodeNumber(this.#codes.length),
          ...this.#codes.flatMap((code) => [encodeNumber(code.length), code]),
        ]),
      ],
    ]);
    return encodeModule(
      this.#header,
      this.#sections.map(({ id, body }): WasmSection => ({ id, body: bodies.get(id) ?? body })),
    );
  }

  #globals(): Uint8Array {
    const body = this.#body(GLOBAL);
    const reader = new WasmReader(body);
    const count = reader.number() + this.#addedGlobals;
    const added = Array.from({ length: this.#addedGlobals }, () => ZERO_GLOBAL).flat();
    return join([encodeNumber(count), body.subarray(reader.at), new Uint8Array(added)]);
  }

  #body(id: number): Uint8Array {
    return sectionBody(this.#sections, id);
  }

  #code(index: number): Uint8Array {
    return this.#codes[index - this.#imported.functions] ?? new Uint8Array(0);
  }
}

/** What replaces a call. */
export interface NewCall {
  /** Index of the function that is called. */
  readonly to: number;
  /** @default none */
  readonly before?: readonly number[];
}

/** Returns the instruction that calls a function. */
export function callOf(index: number): number[] {
  return [CALL, ...encodeNumber(index)];
}

function exported(indices: ReadonlyMap<string, number>, name: string): number {
  const index = indices.get(name);
  if (index === undefined) {
    throw new SyntaxError(`Cannot change sizes of module as it must export '${name}'`);
  }
  return index;
}

function findSequence(bytes: Uint8Array, sequence: readonly number[]): number {
  const [first = 0] = sequence;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (sequence.every((byte, offset) => bytes[at + offset] === byte)) return at;
  }
  return -1;
}
