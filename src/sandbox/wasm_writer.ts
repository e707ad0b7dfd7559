import { join } from "./protocol.ts";
import type { WasmSection } from "./wasm_reader.ts";

/** An unsigned number in LEB128. */
export function encodeNumber(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; bytes.length === 0 || rest > 0; rest >>>= 7) {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  }
  return new Uint8Array(bytes);
}

/** The pieces of a section as a module holds them. */
export function encodeSection({ id, body }: WasmSection): Uint8Array[] {
  return [new Uint8Array([id]), encodeNumber(body.length), body];
}

/** A module of a header and sections. */
export function encodeModule(header: Uint8Array, sections: Iterable<WasmSection>): Uint8Array<ArrayBuffer> {
  return join([header, ...[...sections].flatMap(encodeSection)]);
}
