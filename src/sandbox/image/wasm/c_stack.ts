import { join } from "../../protocol.ts";
import {
  changeFunction,
  CODE,
  DATA,
  encodeModule,
  encodeNumber,
  encodeSigned,
  EXPORT,
  GLOBAL,
  IMPORT,
  readExports,
  readImports,
  sectionBody,
  WASM_HEADER_BYTES,
  WasmReader,
  type WasmSection,
  wasmSections,
} from "./wasm.ts";

/** Size of the C stack of CPython's module, in bytes. Pyodide's has 10 MiB. */
export const FULL_C_STACK_BYTES = 15.5 * 1024 * 1024;

const PYODIDE_C_STACK_BYTES = 10 * 1024 * 1024;

/** Part of the C stack that freeing an object takes, in bytes, beside what its own code takes. */
const FREE_BYTES = 512;

/** The global with the address of the C stack's next byte. At first it is the end of the stack, where the heap begins. */
const STACK_POINTER = "__stack_pointer";
/** Function that frees an object. */
const FREE = "_Py_Dealloc";

const [CONST, GET_LOCAL, GET_GLOBAL, SET_GLOBAL, SUBTRACT] = [0x41, 0x20, 0x23, 0x24, 0x6b];

/**
 * Returns CPython's module with a larger C stack, of which each object that is freed takes a part.
 *
 * The C stack decides how deep Python recurses through C: a level of `sorted(key=…)` takes 2 KiB. To free an object
 * takes no C stack, but some hundred bytes of V8's stack. A chain of objects would overflow that, while CPython, which
 * looks at its C stack, puts none of them off.
 *
 * @throws {SyntaxError} if the module is not as expected.
 */
export function widenCStack(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const sections = [...wasmSections(wasm)];
  const { functions, globals } = readExports(sectionBody(sections, EXPORT));
  const [free, stackPointer] = [functions.get(FREE), globals.get(STACK_POINTER)];
  if (free === undefined || stackPointer === undefined) {
    throw new SyntaxError(
      `Cannot widen C stack of module as it must export '${FREE}' and '${STACK_POINTER}'`,
    );
  }
  const { functions: imported, globals: importedGlobals } = readImports(sectionBody(sections, IMPORT));
  const end = constantOf(sectionBody(sections, GLOBAL), stackPointer - importedGlobals);
  const newEnd = end + FULL_C_STACK_BYTES - PYODIDE_C_STACK_BYTES;
  const move = (body: Uint8Array) => replaceAll(body, constant(end), constant(newEnd));
  const change = ({ id, body }: WasmSection): WasmSection => {
    if (id === GLOBAL) return { id, body: move(body) };
    if (id === DATA) return { id, body: replaceAll(body, littleEndian(end), littleEndian(newEnd)) };
    if (id !== CODE) return { id, body };
    const charged = changeFunction(body, free - imported.length, (code) => chargeFree(code, stackPointer));
    return { id, body: move(charged) };
  };
  return encodeModule(wasm.subarray(0, WASM_HEADER_BYTES), sections.map(change));
}

/** Returns the number that a global begins with. The globals before it are numbers too. */
function constantOf(body: Uint8Array, index: number): number {
  const reader = new WasmReader(body);
  reader.number();
  for (let left = index; left > 0; left--) {
    reader.bytes(3);
    reader.skipNumbers(1);
    reader.byte();
  }
  reader.bytes(3);
  return reader.number();
}

/** Returns the instruction that pushes a number, in four bytes, as for an address between 1 and 64 MiB. */
function constant(value: number): Uint8Array {
  return new Uint8Array([CONST, ...encodeSigned(value)]);
}

/** Returns a number as C variables have it. */
function littleEndian(value: number): Uint8Array {
  return new Uint8Array(new Uint32Array([value]).buffer);
}

/** Returns bytes in which a sequence is replaced by one of the same length. */
function replaceAll(bytes: Uint8Array, old: Uint8Array, replacement: Uint8Array): Uint8Array {
  if (old.length !== replacement.length) throw new RangeError("the sequences must have the same length");
  const result = bytes.slice();
  for (let at = indexOf(result, old, 0); at >= 0; at = indexOf(result, old, at + 1)) {
    result.set(replacement, at);
  }
  return result;
}

/** Returns the index of a sequence, from `from` on; -1 if there is none. */
function indexOf(bytes: Uint8Array, sequence: Uint8Array, from: number): number {
  const [first = 0] = sequence;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (sequence.every((byte, offset) => bytes[at + offset] === byte)) return at;
  }
  return -1;
}

/**
 * Returns the code of the function that frees an object, which moves the stack pointer before it calls the type's own
 * function: `(local.get 0) (local.get 5) (call_indirect (type 3))`. Local 6 has the stack pointer, and all paths to the
 * end restore it from there.
 */
function chargeFree(code: Uint8Array, stackPointer: number): Uint8Array {
  const pointer = [...encodeNumber(stackPointer)];
  const call = new Uint8Array([GET_LOCAL, 0, GET_LOCAL, 5, 0x11, 3, 0]);
  const save = new Uint8Array([GET_GLOBAL, ...pointer, 0x22, 6]);
  const restore = new Uint8Array([GET_LOCAL, 6, SET_GLOBAL, ...pointer, 0x0b]);
  const at = indexOf(code, call, 0);
  const isKnown = at > indexOf(code, save, 0) && indexOf(code, save, 0) > 0 &&
    indexOf(code, restore, 0) === code.length - restore.length;
  if (!isKnown) throw new SyntaxError(`Cannot change '${FREE}' of module as its code is not as expected`);
  const charge = [GET_LOCAL, 6, CONST, ...encodeSigned(FREE_BYTES), SUBTRACT, SET_GLOBAL, ...pointer];
  return join([code.subarray(0, at), new Uint8Array(charge), code.subarray(at)]);
}
