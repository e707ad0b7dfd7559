import { join } from "../../protocol.ts";
import {
  changeFunction,
  CODE,
  encodeModule,
  encodeNumber,
  encodeSigned,
  EXPORT,
  IMPORT,
  readExports,
  readImports,
  sectionBody,
  WASM_HEADER_BYTES,
  WasmReader,
  type WasmSection,
  wasmSections,
} from "./wasm.ts";

/** Function of CPython that converts an `int` to a size. All C code that accepts a size calls it. */
const CONVERT = "PyLong_AsSsize_t";
/** Variable with the address of the type `int`. */
const INT_TYPE = "PyLong_Type";

/**
 * Returns CPython's module with one value more that it accepts as a size: 2^63-1, the `sys.maxsize` of 64-bit machines,
 * counts as the largest size of 32-bit Wasm. Programs and CPython's own library pass `sys.maxsize` for "no limit", as
 * in `islice(items, sys.maxsize)` and `file.read(sys.maxsize)`. Other sizes that are too large raise an exception as
 * before.
 *
 * @throws {SyntaxError} if the module does not export the function and the type.
 */
export function acceptMaxSize(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const sections = [...wasmSections(wasm)];
  const { functions, globals } = readExports(sectionBody(sections, EXPORT));
  const [convert, intType] = [functions.get(CONVERT), globals.get(INT_TYPE)];
  if (convert === undefined || intType === undefined) {
    throw new SyntaxError(`Cannot change sizes of module as it must export '${CONVERT}' and '${INT_TYPE}'`);
  }
  const index = convert - readImports(sectionBody(sections, IMPORT)).functions.length;
  const added = maxSizeCode(intType);
  return encodeModule(
    wasm.subarray(0, WASM_HEADER_BYTES),
    sections.map(({ id, body }): WasmSection => ({
      id,
      body: id === CODE ? changeFunction(body, index, (code) => prependCode(code, added)) : body,
    })),
  );
}

/** Returns a function, its locals first, that begins with `instructions`. */
function prependCode(code: Uint8Array, instructions: Uint8Array): Uint8Array {
  const reader = new WasmReader(code);
  for (let groups = reader.number(); groups > 0; groups--) reader.skipNumbers(2);
  return join([code.subarray(0, reader.at), instructions, code.subarray(reader.at)]);
}

/**
 * Code that returns the largest size if the first parameter is an `int` of 2^63-1, in CPython 3.14's layout: the type
 * at offset 4, sign and number of digits at 8, and digits of 30 bits from 12 on.
 */
function maxSizeCode(intType: number): Uint8Array {
  const object = [0x20, 0];
  const unequal32 = [0x47, 0x0d, 0];
  const unequal64 = [0x52, 0x0d, 0];
  const isInt = [...object, 0x28, 2, 4, 0x23, ...encodeNumber(intType), ...unequal32];
  const hasThreeDigits = [...object, 0x28, 2, 8, 0x41, 24, ...unequal32];
  const lowDigits = [...object, 0x29, 2, 12, 0x42, ...encodeSigned(0x3fffffff_3fffffffn), ...unequal64];
  const highDigit = [...object, 0x28, 2, 20, 0x41, 7, ...unequal32];
  const answer = [0x41, ...encodeSigned(0x7fffffffn), 0x0f];
  return new Uint8Array([
    0x02,
    0x40,
    ...isInt,
    ...hasThreeDigits,
    ...lowDigits,
    ...highDigit,
    ...answer,
    0x0b,
  ]);
}
