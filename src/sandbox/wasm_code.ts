import { WasmReader } from "./wasm_reader.ts";

const [LOOP, BR_TABLE, SELECT_OF, TRY_TABLE, F32_CONST, F64_CONST] = [0x03, 0x0e, 0x1c, 0x1f, 0x43, 0x44];
const [BULK, SIMD, ATOMIC] = [0xfc, 0xfd, 0xfe];

/** Numbers behind each opcode; what is not here, and has no case of its own, has none or is unknown. */
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
/** The same behind the prefix for conversions, bulk memory and tables. */
const BULK_NUMBERS = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

/**
 * Where the bodies of a function's loops begin, as offsets into its code.
 *
 * @throws {SyntaxError} when an instruction is not one that is known.
 */
export function* loopStarts(code: Uint8Array): Generator<number> {
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
  else if (opcode === BULK) reader.skipNumbers(known(BULK_NUMBERS[reader.number()], opcode));
  else if (opcode === SIMD) skipVector(reader, reader.number());
  else if (opcode === ATOMIC) reader.skipNumbers(reader.number() === 3 ? 1 : 2);
  else known(undefined, opcode);
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

function known(numbers: number | undefined, opcode: number): number {
  if (numbers !== undefined) return numbers;
  throw new SyntaxError(
    `Cannot read code as each instruction must be known: there is 0x${opcode.toString(16)}`,
  );
}

function span(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}
