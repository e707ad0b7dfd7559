import { join } from "./protocol.ts";
import { WASM_HEADER_BYTES, WasmReader, type WasmSection, wasmSections } from "./wasm_reader.ts";
import { encodeModule, encodeNumber } from "./wasm_writer.ts";

/** Sections of a WebAssembly module, by the number in front of each. */
const EXPORT = 7;
const DATA = 11;
const DATA_COUNT = 12;

/**
 * A module without its data and with none but the named exports: what is left to load when the memory comes
 * from an image, which overwrites all data, and when nobody calls the other exports.
 */
export function leanWasm(wasm: Uint8Array, exportNames: ReadonlySet<string>): Uint8Array<ArrayBuffer> {
  return encodeModule(wasm.subarray(0, WASM_HEADER_BYTES), leanSections(wasm, exportNames));
}

function* leanSections(wasm: Uint8Array, exportNames: ReadonlySet<string>): Generator<WasmSection> {
  for (const { id, body } of wasmSections(wasm)) {
    if (id === DATA || id === DATA_COUNT) continue;
    yield { id, body: id === EXPORT ? someExports(body, exportNames) : body };
  }
}

function someExports(body: Uint8Array, names: ReadonlySet<string>): Uint8Array {
  const reader = new WasmReader(body);
  const entries: Uint8Array[] = [];
  for (let left = reader.number(); left > 0; left--) {
    const start = reader.at;
    const name = reader.text();
    reader.byte();
    reader.number();
    if (names.has(name)) entries.push(body.subarray(start, reader.at));
  }
  return join([encodeNumber(entries.length), ...entries]);
}
