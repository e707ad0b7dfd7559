import type { HeapPatch } from "../../guest/build.ts";
import { join } from "../../protocol.ts";
import rows from "./linux_errors.json" with { type: "json" };
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

/** An error of the operating system: its name, Emscripten's number, Linux's number, and the text of glibc. */
export type ErrorRow = readonly [name: string, emscripten: number, linux: number, text: string];

/** The errors that Linux and Emscripten have. */
export const LINUX_ERRORS = rows as unknown as readonly ErrorRow[];

/** Function of CPython that makes the exception of a failed call of C. All others that do so call it. */
const RAISE = "PyErr_SetFromErrnoWithFilenameObjects";
/** Function of CPython by which its streams read the number of an exception, to compare it with EINTR. */
const CONVERT = "PyLong_AsLongAndOverflow";
const ERRNO_ADDRESS = "__errno_location";
const TEXT_OF = "__strerror_l";

const EINTR = "EINTR";
/**
 * Linux's numbers of the errors of POSIX without the errors of STREAMS. C code has no room for the texts of others.
 */
const POSIX_NUMBERS: readonly (readonly [first: number, last: number])[] = [
  [1, 40],
  [71, 71],
  [74, 75],
  [84, 84],
  [88, 116],
  [122, 122],
  [125, 125],
  [130, 131],
];

const [BLOCK, BRANCH, BRANCH_TABLE, END] = [0x02, 0x0c, 0x0e, 0x0b];
const [CALL, GET_LOCAL, SET_LOCAL, TEE_LOCAL, CONST] = [0x10, 0x20, 0x21, 0x22, 0x41];
const [LOAD, LOAD_16, EQUAL, UNEQUAL, ADD, SHIFT] = [0x28, 0x2f, 0x46, 0x47, 0x6a, 0x74];
const [NO_RESULT, NUMBER] = [0x40, 0x7f];

/**
 * Returns CPython's module with the numbers of Linux in the exceptions that it raises. C code keeps Emscripten's
 * numbers: `errno` is only translated where it becomes an exception. The heap that the module runs with must have the
 * texts of {@linkcode errorTexts}, and Python's `errno` and choice of subclasses the numbers of Linux.
 *
 * @throws {SyntaxError} if the module is not as expected.
 */
export function raiseLinuxErrors(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const module = readModule(wasm);
  const raise = module.indexOf(RAISE);
  const compare = findComparison(module);
  return encodeModule(
    wasm.subarray(0, WASM_HEADER_BYTES),
    module.sections.map(({ id, body }): WasmSection => {
      if (id !== CODE) return { id, body };
      const raised = changeFunction(body, raise, (code) => translateErrno(code, module.errnoAddress));
      return { id, body: changeFunction(raised, compare, (code) => replaceEintr(code, UNEQUAL)) };
    }),
  );
}

/**
 * Returns the texts of C's `strerror` by the numbers of Linux, and where a heap has them: a table of 16-bit offsets,
 * followed by the texts.
 *
 * @throws {SyntaxError} if the module is not as expected.
 */
export function errorTexts(wasm: Uint8Array): HeapPatch {
  const { code, indexOf } = readModule(wasm);
  const body = code(indexOf(TEXT_OF));
  const offsets = find(body, [CONST, 1, SHIFT, CONST]);
  const texts = find(body, [LOAD_16, 1, 0]);
  const address = readSigned(body, offsets + 4);
  const base = readSigned(body, body.length - 6);
  const isKnown = offsets > 0 && texts > offsets && body.at(-7) === CONST && body.at(-2) === ADD &&
    base > address;
  if (!isKnown) throw unexpected(TEXT_OF);
  return { address, base64: encodeTexts(base - address).toBase64() };
}

/** Bytes of the texts of Emscripten's C library. */
const TEXT_BYTES = 1900;

function encodeTexts(tableBytes: number): Uint8Array {
  const bytes = new Uint8Array(tableBytes + TEXT_BYTES);
  const view = new DataView(bytes.buffer);
  let at = tableBytes;
  const add = (text: string) => {
    const encoded = new TextEncoder().encode(`${text}\0`);
    bytes.set(encoded, at); // throws if there is no room
    at += encoded.length;
  };
  add("Success");
  for (const [, , linux, text] of LINUX_ERRORS) {
    const isPosix = POSIX_NUMBERS.some(([first, last]) => linux >= first && linux <= last);
    if (!isPosix || view.getUint16(2 * linux, true) !== 0) continue;
    view.setUint16(2 * linux, at - tableBytes, true);
    add(text);
  }
  return bytes;
}

/** The parts of CPython's module that this file reads. Functions are counted without imported ones. */
interface Module {
  readonly sections: readonly WasmSection[];
  readonly errnoAddress: Uint8Array;
  readonly codes: readonly Uint8Array[];
  indexOf(name: string): number;
  code(index: number): Uint8Array;
  /** Number of imported functions. */
  readonly imported: number;
}

function readModule(wasm: Uint8Array): Module {
  const sections = [...wasmSections(wasm)];
  const { functions } = readExports(sectionBody(sections, EXPORT));
  const imported = readImports(sectionBody(sections, IMPORT)).functions.length;
  const reader = new WasmReader(sectionBody(sections, CODE));
  const codes = Array.from({ length: reader.number() }, () => reader.bytes(reader.number()));
  const indexOf = (name: string) => {
    const index = functions.get(name);
    if (index === undefined) {
      throw new SyntaxError(`Cannot change errors of module as it must export '${name}'`);
    }
    return index - imported;
  };
  const code = (index: number) => codes[index] ?? new Uint8Array(0);
  const errno = code(indexOf(ERRNO_ADDRESS)); // no locals, the address, the end
  if (errno[1] !== CONST || errno.at(-1) !== END) throw unexpected(ERRNO_ADDRESS);
  return { sections, codes, indexOf, code, imported, errnoAddress: errno.subarray(1, -1) };
}

/** Returns the index of the function that compares the number of an exception with EINTR. */
function findComparison({ codes, indexOf, imported }: Module): number {
  const convert = [CALL, ...encodeNumber(indexOf(CONVERT) + imported)];
  const found = codes.flatMap((code, index) => {
    const at = find(code, [...convert, SET_LOCAL]);
    if (at < 0) return [];
    const local = code[at + convert.length + 1] ?? 0;
    const compared = find(code, [GET_LOCAL, local, ...eintr("emscripten"), UNEQUAL], at);
    return compared > 0 && compared - at < 16 ? [index] : [];
  });
  const [index = 0] = found;
  if (found.length !== 1) throw unexpected(CONVERT);
  return index;
}

/** Returns the code of the function that raises, with a translation behind the place where it reads `errno`. */
function translateErrno(code: Uint8Array, errnoAddress: Uint8Array): Uint8Array {
  const load = [...errnoAddress, LOAD, 2, 0, TEE_LOCAL];
  const at = find(code, load);
  const isKnown = at > 0 && find(code, [...errnoAddress], at + 1) < 0;
  if (!isKnown) throw unexpected(RAISE);
  const end = at + load.length - 1;
  const local = code[end + 1] ?? 0;
  return replaceEintr(join([code.subarray(0, end), translation(local), code.subarray(end)]), EQUAL);
}

/** Code that replaces the number on the stack. `local` is free. */
function translation(local: number): Uint8Array {
  const numbers = new Map(LINUX_ERRORS.map(([, emscripten, linux]) => [emscripten, linux]));
  const count = Math.max(...numbers.keys()) + 1;
  const cases = Array.from({ length: count }, (_, index) => [
    ...[END, CONST, ...encodeSigned(numbers.get(index) ?? index)],
    ...[BRANCH, ...encodeNumber(count - index)],
  ]);
  return new Uint8Array([
    ...[SET_LOCAL, local, BLOCK, NUMBER],
    ...new Array(count + 1).fill([BLOCK, NO_RESULT]).flat(), // one for each number, and one for all others
    ...[GET_LOCAL, local, BRANCH_TABLE, ...encodeNumber(count)],
    ...Array.from({ length: count + 1 }, (_, index) => [...encodeNumber(index)]).flat(),
    ...cases.flat(),
    ...[END, GET_LOCAL, local, END],
  ]);
}

function replaceEintr(code: Uint8Array, comparison: number): Uint8Array {
  const old = [...eintr("emscripten"), comparison];
  const at = find(code, old);
  if (at < 0 || find(code, old, at + 1) >= 0) throw unexpected(EINTR);
  const changed = code.slice();
  changed.set(eintr("linux"), at);
  return changed;
}

/** Returns the instruction that pushes the number of EINTR. */
function eintr(kind: "emscripten" | "linux"): number[] {
  const row = LINUX_ERRORS.find(([name]) => name === EINTR);
  if (!row) throw new TypeError(`the table of errors must have ${EINTR}`);
  return [CONST, ...encodeSigned(kind === "linux" ? row[2] : row[1])];
}

/** Returns where a sequence is, from `from` on; -1 if it is nowhere. */
function find(bytes: Uint8Array, sequence: readonly number[], from = 0): number {
  const [first = 0] = sequence;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (sequence.every((byte, offset) => bytes[at + offset] === byte)) return at;
  }
  return -1;
}

/** Reads a positive number in signed LEB128. */
function readSigned(bytes: Uint8Array, at: number): number {
  return new WasmReader(bytes, at).number();
}

function unexpected(name: string): SyntaxError {
  return new SyntaxError(`Cannot change errors of module as the code of '${name}' is not as expected`);
}
