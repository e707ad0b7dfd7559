import {
  CODE,
  encodeModule,
  encodeNumber,
  GLOBAL,
  IMPORT,
  MEMORY,
  readImports,
  WASM_HEADER_BYTES,
  type WasmImports,
  WasmReader,
  type WasmSection,
  wasmSections,
} from "../image/wasm/wasm.ts";
import { join } from "../protocol.ts";

/** Name of the import that each loop calls at intervals: `() => f64`. The host supplies one that may throw. */
const CLOCK = "emscripten_get_now";
/**
 * Number of loop iterations, all loops counted together, between two calls of the clock: some milliseconds. Wasm
 * constants are signed: the top seven bits must be below 64.
 */
const ITERATIONS = 500_000;

/**
 * Returns a module that enforces limits itself, for hosts where V8 flags cannot be set and no process can be
 * killed. Its memory grows to at most `pages`. Its loops call the imported `emscripten_get_now` every half a
 * million iterations, so that the host can end an endless loop.
 *
 * @throws {SyntaxError} if the module has no such import or an unknown instruction.
 */
export function boundWasm(wasm: Uint8Array, pages: number): Uint8Array<ArrayBuffer> {
  return encodeModule(wasm.subarray(0, WASM_HEADER_BYTES), boundedSections(wasm, pages));
}

function* boundedSections(wasm: Uint8Array, pages: number): Generator<WasmSection> {
  let imports: WasmImports = { entries: [], functions: [], globals: 0 };
  let counter = 0;
  for (const { id, body } of wasmSections(wasm)) {
    if (id === IMPORT) imports = readImports(body);
    if (id === GLOBAL) counter = imports.globals + new WasmReader(body).number();
    if (id === MEMORY) yield { id, body: boundedMemory(body, pages) };
    else if (id === GLOBAL) yield { id, body: withCounter(body) };
    else if (id === CODE) {
      yield { id, body: countLoops(body, iterationCode(counter, imports.functions.indexOf(CLOCK))) };
    } else yield { id, body };
  }
}

/** Returns the memory section with a maximum size; the minimum stays the same. */
function boundedMemory(body: Uint8Array, pages: number): Uint8Array {
  const reader = new WasmReader(body);
  reader.skipNumbers(2);
  const hasMaximum = 1;
  return join([new Uint8Array([1, hasMaximum]), encodeNumber(reader.number()), encodeNumber(pages)]);
}

/** Returns the global section with a counter of iterations at its end: `(mut i32) 0`. */
function withCounter(body: Uint8Array): Uint8Array {
  const reader = new WasmReader(body);
  const count = reader.number();
  return join([encodeNumber(count + 1), body.subarray(reader.at), new Uint8Array([0x7f, 1, 0x41, 0, 0x0b])]);
}

/** Returns code that counts an iteration. At the limit it resets the counter and calls the clock. */
function iterationCode(counter: number, clock: number): Uint8Array {
  if (clock < 0) {
    throw new SyntaxError(`Cannot bound module as it must import '${CLOCK}': there is no such import`);
  }
  const [get, set] = [[0x23, ...encodeNumber(counter)], [0x24, ...encodeNumber(counter)]];
  const countUp = [...get, 0x41, 1, 0x6a, ...set];
  const isOver = [...get, 0x41, ...encodeNumber(ITERATIONS), 0x4f];
  const callClock = [0x41, 0, ...set, 0x10, ...encodeNumber(clock), 0x1a];
  return new Uint8Array([...countUp, ...isOver, 0x04, 0x40, ...callClock, 0x0b]);
}

function countLoops(body: Uint8Array, iteration: Uint8Array): Uint8Array {
  const reader = new WasmReader(body);
  const count = reader.number();
  const pieces: Uint8Array[] = [encodeNumber(count)];
  for (let left = count; left > 0; left--) {
    const code = reader.bytes(reader.number());
    const starts = [...loopStarts(code)];
    pieces.push(encodeNumber(code.length + starts.length * iteration.length));
    let from = 0;
    for (const start of starts) {
      pieces.push(code.subarray(from, start), iteration);
      from = start;
    }
    pieces.push(code.subarray(from));
  }
  return join(pieces);
}

const [LOOP, BR_TABLE, SELECT_OF, TRY_TABLE, F32_CONST, F64_CONST] = [0x03, 0x0e, 0x1c, 0x1f, 0x43, 0x44];
const [BULK, SIMD, ATOMIC] = [0xfc, 0xfd, 0xfe];

/** Number of operands of each opcode. Other opcodes are handled in {@linkcode skipOperands} or unknown. */
const NUMBERS = new Map<number, number>([
  ...[0x02, LOOP, 0x04, 0x06, 0x07, 0x08, 0x09].map((code) => [code, 1] as const), // blocks, exceptions
  ...[0x0c, 0x0d, 0x10, 0x12, 0x14, 0x15, 0x18].map((code) => [code, 1] as const), // branches, calls
  ...[0x11, 0x13].map((code) => [code, 2] as const), // indirect calls
  ...span(0x20, 0x26).map((code) => [code, 1] as const), // locals, globals, tables
  ...span(0x28, 0x3e).map((code) => [code, 2] as const), // loads and stores
  ...[0x3f, 0x40, 0x41, 0x42, 0xd0, 0xd2].map((code) => [code, 1] as const), // memory, constants, references
  ...[0x00, 0x01, 0x05, 0x0a, 0x0b, 0x0f, 0x19, 0x1a, 0x1b, 0xd1].map((code) => [code, 0] as const),
  ...span(0x45, 0xc4).map((code) => [code, 0] as const), // arithmetic
]);
/** Number of operands after the prefix for conversions, bulk memory and tables. */
const BULK_NUMBERS = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

/**
 * Yields the start of each loop body in a function, as an offset into its code.
 *
 * @throws {SyntaxError} if an instruction is unknown.
 */
function* loopStarts(code: Uint8Array): Generator<number> {
  const reader = new WasmReader(code);
  for (let groups = reader.number(); groups > 0; groups--) reader.skipNumbers(2);
  while (!reader.atEnd) {
    const opcode = reader.byte();
    skipOperands(reader, opcode);
    if (opcode === LOOP) yield reader.at;
  }
}

function skipOperands(reader: WasmReader, opcode: number): void {
  const numbers = NUMBERS.get(opcode);
  if (numbers !== undefined) return reader.skipNumbers(numbers);
  if (opcode === F32_CONST) reader.bytes(4);
  else if (opcode === F64_CONST) reader.bytes(8);
  else if (opcode === BR_TABLE) reader.skipNumbers(reader.number() + 1);
  else if (opcode === SELECT_OF) reader.skipNumbers(reader.number());
  else if (opcode === TRY_TABLE) skipCatches(reader);
  else if (opcode === BULK) reader.skipNumbers(requireKnown(BULK_NUMBERS[reader.number()], opcode));
  else if (opcode === SIMD) skipVector(reader, reader.number());
  else if (opcode === ATOMIC) reader.skipNumbers(reader.number() === 3 ? 1 : 2);
  else requireKnown(undefined, opcode);
}

function skipCatches(reader: WasmReader): void {
  reader.skipNumbers(1);
  for (let left = reader.number(); left > 0; left--) reader.skipNumbers(reader.byte() < 2 ? 2 : 1);
}

function skipVector(reader: WasmReader, opcode: number): void {
  if (opcode <= 11 || opcode === 92 || opcode === 93) reader.skipNumbers(2);
  else if (opcode === 12 || opcode === 13) reader.bytes(16);
  else if (opcode >= 21 && opcode <= 34) reader.bytes(1);
  else if (opcode >= 84 && opcode <= 91) reader.skipNumbers(3);
}

function requireKnown(numbers: number | undefined, opcode: number): number {
  if (numbers !== undefined) return numbers;
  throw new SyntaxError(
    `Cannot read code as it has an unknown instruction: 0x${opcode.toString(16)}`,
  );
}

function span(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
