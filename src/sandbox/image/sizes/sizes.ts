import { encodeNumber, encodeSigned } from "../wasm.ts";
import { callOf, CModule } from "./c_module.ts";
import {
  ADD,
  AT_LEAST,
  BLOCK,
  BRANCH_IF,
  CONST,
  CONST_64,
  ELSE,
  END,
  EQUAL,
  FIRST,
  GET_GLOBAL,
  GET_LOCAL,
  IF,
  IS_ZERO,
  LESS_64,
  LOAD,
  LOAD_64,
  MAX_SIZE_32,
  MAX_SIZE_64,
  MIN_SIZE_32,
  MINUS_ONE,
  MINUS_ONE_64,
  NOTHING,
  NUMBER,
  NUMBER_64,
  RETURN,
  RETURN_FAILURE,
  SECOND,
  SET_LOCAL,
  TEE_LOCAL,
  UNEQUAL,
  UNEQUAL_64,
} from "./instructions.ts";
import { returnRangeLengths } from "./range_length.ts";
import { INIT_SLOT, NEW_SLOT, type StaticData, TYPE_OFFSETS } from "./static_data.ts";

/** Function of CPython that converts an `int` to a size. C code that accepts a size calls it. */
const CONVERT = "PyLong_AsSsize_t";
/** Function of CPython that converts an index to a size. */
const CONVERT_INDEX = "PyNumber_AsSsize_t";
/** Function of CPython that converts a size to an `int`. */
const RESULT = "PyLong_FromSsize_t";

/** Methods whose sizes are limits or positions: no list or text has more than 2^31 - 1 items. */
const LIMITED_METHODS = [
  ...["replace", "split", "rsplit", "insert", "pop"], // str, bytes, bytearray, list, deque, array
  ...["read", "read1", "readline", "readlines", "peek", "decompress", "field_size_limit"],
  ...["match", "fullmatch", "search", "sub", "subn", "findall", "finditer", "scanner"], // re
];
/** Methods that keep or return the size. */
const EXACT_METHODS = ["seek", "length_hint"];
/** Type of Python of a size in `struct`: its letter, bytes and alignment, in front of functions to read and write. */
const SIZE_FORMAT = [0x6e, 4, 4];

/**
 * Returns CPython's module, which has sizes of 32 bits, with the sizes of 64-bit machines where they are limits.
 *
 * | C code                                          | sizes from 2^31 to 2^63 - 1, and the negative ones          |
 * | ----------------------------------------------- | ----------------------------------------------------------- |
 * | limits and positions: `islice`, `split`, `read` | count as the largest size                                   |
 * | `deque.rotate`                                  | are right                                                   |
 * | `len` of a range, up to 2^63 - 1                | is right                                                    |
 * | values: `count`, `enumerate`, `len`, `hash`     | raise an exception in C; `count` and `enumerate` then count |
 * |                                                 | with `int`                                                  |
 * | any other                                       | 2^63 - 1, `sys.maxsize`, counts as the largest size         |
 *
 * Programs and CPython's own library pass `sys.maxsize` for "no limit".
 *
 * @throws {SyntaxError} if the module is not as expected.
 */
export function widenSizes(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const module = new CModule(wasm);
  const data = module.staticData();
  const convert = module.functionOf(CONVERT);
  const exact = module.addFunction(convert);
  const limit = module.addFunction(convert, limitCode(module, exact));
  const replace = (indices: readonly number[], to: number) => {
    for (const index of new Set(indices)) module.replaceCalls(index, convert, { to });
  };
  const exactIndex = module.addFunction(module.functionOf(CONVERT_INDEX));
  replace([exactIndex, ...exactFunctions(module, data)], exact);
  for (const index of converting(module, data.overridden("__len__"), module.functionOf(CONVERT_INDEX))) {
    module.replaceCalls(index, module.functionOf(CONVERT_INDEX), { to: exactIndex });
  }
  widenRotation(module, { data, limit });
  replace(limitedFunctions(module, data), limit);
  keepMaxLength(module, { data, exact });
  returnRangeLengths(module, {
    lengths: converting(module, data.namedFunctions("len"), module.functionOf("PyObject_Size")),
    exact,
  });
  module.prepend(convert, maxSizeCode(module, MAX_SIZE_32));
  return module.encode();
}

/** Returns the functions in which a size is a limit. */
function limitedFunctions(module: CModule, data: StaticData): number[] {
  return [
    module.functionOf(CONVERT_INDEX),
    ...LIMITED_METHODS.flatMap((name) => converting(module, data.namedFunctions(name))),
  ];
}

/** Returns the functions in which a size is a value. */
function exactFunctions(module: CModule, data: StaticData): number[] {
  const enumerate = module.addressOf("PyEnum_Type");
  const range = module.addressOf("PyRange_Type");
  const makers = [TYPE_OFFSETS.new, TYPE_OFFSETS.vectorcall].flatMap((at) => data.functionAt(enumerate + at));
  return [
    module.functionOf("PyObject_LengthHint"),
    ...converting(module, makers.flatMap((index) => [index, ...module.callees(index)])),
    ...converting(module, data.functionAt(data.wordAt(range + TYPE_OFFSETS.asSequence))),
    ...converting(module, data.slotOf("itertools.count", NEW_SLOT)),
    ...converting(module, data.overridden("__hash__")),
    ...EXACT_METHODS.flatMap((name) => converting(module, data.namedFunctions(name))),
    ...packing(module, data),
  ];
}

/** Returns the functions of `struct` that write a size. */
function packing(module: CModule, data: StaticData): number[] {
  const writers = data.functionsBehind(SIZE_FORMAT, 2);
  return converting(module, writers.flatMap((index) => [index, ...module.callees(index)]));
}

/**
 * Returns those functions that convert an `int` to a size, each once.
 *
 * @throws {SyntaxError} if there is none.
 */
function converting(
  module: CModule,
  indices: readonly number[],
  convert = module.functionOf(CONVERT),
): number[] {
  const found = [...new Set(indices)].filter((index) => module.calls(index, convert));
  if (found.length === 0) {
    throw new SyntaxError("Cannot change sizes of module as a function that takes a size is not as expected");
  }
  return found;
}

/** Lets `deque.rotate` take the rest of a division by the length. */
function widenRotation(module: CModule, { data, limit }: { data: StaticData; limit: number }): void {
  const convert = module.functionOf(CONVERT);
  const rotation = module.addFunction(module.functionOf(CONVERT_INDEX), rotationCode(module, limit));
  for (const index of converting(module, data.namedFunctions("rotate"))) {
    module.replaceCalls(index, convert, { to: rotation, before: FIRST });
  }
}

/** Lets a deque have the length `sys.maxsize` at most, which its attribute `maxlen` returns. */
function keepMaxLength(module: CModule, { data, exact }: { data: StaticData; exact: number }): void {
  const [convert, result] = [module.functionOf(CONVERT), module.functionOf(RESULT)];
  const kept = [CONST, ...encodeSigned(2n ** 31n - 2n)]; // a program that asks for a size asks for 2^31 - 1 rather
  const keep = module.addFunction(exact);
  module.prepend(keep, maxSizeCode(module, kept));
  for (const index of converting(module, data.slotOf("collections.deque", INIT_SLOT))) {
    module.replaceCalls(index, convert, { to: keep });
  }
  const show = module.addFunction(result);
  const answer = [...MAX_SIZE_64, ...callOf(module.functionOf("PyLong_FromLongLong"))];
  module.prepend(show, new Uint8Array([...FIRST, ...kept, EQUAL, IF, NOTHING, ...answer, RETURN, END]));
  for (const index of converting(module, data.namedFunctions("maxlen"), result)) {
    module.replaceCalls(index, result, { to: show });
  }
}

/**
 * Code that returns a size if the first parameter is an `int` of 2^63-1, in CPython 3.14's layout: the type
 * at offset 4, sign and number of digits at 8, and digits of 30 bits from 12 on.
 */
function maxSizeCode(module: CModule, size: readonly number[]): Uint8Array {
  const leaveUnless = [BRANCH_IF, 0];
  const intType = [GET_GLOBAL, ...encodeNumber(module.globalOf("PyLong_Type"))];
  const isInt = [...FIRST, LOAD, 2, 4, ...intType, UNEQUAL, ...leaveUnless];
  const hasThreeDigits = [...FIRST, LOAD, 2, 8, CONST, 24, UNEQUAL, ...leaveUnless];
  const digits = [CONST_64, ...encodeSigned(0x3fffffff_3fffffffn)];
  const lowDigits = [...FIRST, LOAD_64, 2, 12, ...digits, UNEQUAL_64, ...leaveUnless];
  const highDigit = [...FIRST, LOAD, 2, 20, CONST, 7, UNEQUAL, ...leaveUnless];
  const checks = [...isInt, ...hasThreeDigits, ...lowDigits, ...highDigit];
  return new Uint8Array([BLOCK, NOTHING, ...checks, ...size, RETURN, END]);
}

/** A function that returns the largest or smallest size for an `int` that has 64 bits and no more. */
function limitCode(module: CModule, exact: number): Uint8Array {
  const call = (name: string) => callOf(module.functionOf(name));
  const overflow = [GET_GLOBAL, ...encodeNumber(module.globalOf("PyExc_OverflowError")), LOAD, 2, 0];
  const [size, wide] = [1, 2];
  return new Uint8Array([
    ...[2, 1, NUMBER, 1, NUMBER_64],
    ...[...FIRST, ...callOf(exact), TEE_LOCAL, size, ...MINUS_ONE, UNEQUAL],
    ...[IF, NOTHING, GET_LOCAL, size, RETURN, END],
    ...[...call("PyErr_Occurred"), IS_ZERO, ...RETURN_FAILURE],
    ...[...overflow, ...call("PyErr_ExceptionMatches"), IS_ZERO, ...RETURN_FAILURE],
    ...call("PyErr_Clear"),
    ...[...FIRST, ...call("PyLong_AsLongLong"), TEE_LOCAL, wide, ...MINUS_ONE_64, UNEQUAL_64, IF, NOTHING],
    ...[
      GET_LOCAL,
      wide,
      CONST_64,
      0,
      LESS_64,
      IF,
      NUMBER,
      ...MIN_SIZE_32,
      ELSE,
      ...MAX_SIZE_32,
      END,
      RETURN,
      END,
    ],
    ...call("PyErr_Clear"),
    ...[...FIRST, ...callOf(exact), END], // raises its exception again
  ]);
}

/** A function that returns the first parameter, or the rest of its division by the length of the second. */
function rotationCode(module: CModule, limit: number): Uint8Array {
  const call = (name: string) => callOf(module.functionOf(name));
  const [size, number] = [2, 3];
  const length = [...SECOND, LOAD, 2, 8];
  const release = (local: number) => [GET_LOCAL, local, ...call("Py_DecRef")];
  return new Uint8Array([
    ...[1, 2, NUMBER],
    ...[...FIRST, ...callOf(limit), TEE_LOCAL, size],
    ...[CONST, 0x81, 0x80, 0x80, 0x80, 0x78, ADD, CONST, 2, AT_LEAST], // neither the largest size nor the smallest
    ...[IF, NOTHING, GET_LOCAL, size, RETURN, END],
    ...[...length, IS_ZERO, IF, NOTHING, CONST, 0, RETURN, END],
    ...[...length, ...call(RESULT), TEE_LOCAL, number, IS_ZERO, ...RETURN_FAILURE],
    ...[...FIRST, GET_LOCAL, number, ...call("PyNumber_Remainder"), SET_LOCAL, size],
    ...release(number),
    ...[GET_LOCAL, size, IS_ZERO, ...RETURN_FAILURE],
    ...[GET_LOCAL, size, ...callOf(limit), SET_LOCAL, number],
    ...release(size),
    ...[GET_LOCAL, number, END],
  ]);
}
