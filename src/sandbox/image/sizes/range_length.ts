import { encodeNumber } from "../wasm.ts";
import { callOf, type CModule } from "./c_module.ts";
import {
  BLOCK,
  BRANCH,
  BRANCH_IF,
  CONST,
  END,
  EQUAL_64,
  FIRST,
  GET_GLOBAL,
  GET_LOCAL,
  IF,
  IS_ZERO,
  LOAD,
  MINUS_ONE,
  MINUS_ONE_64,
  NOTHING,
  NUMBER,
  RETURN,
  SET_GLOBAL,
  SET_LOCAL,
  TEE_LOCAL,
  UNEQUAL,
} from "./instructions.ts";

/** Function that returns the number of an object's items, and the function that makes an `int` of it. */
const [SIZE, RESULT] = ["PyObject_Size", "PyLong_FromSsize_t"];
/** CPython's interpreter, which calls `len` without the function of Python. */
const INTERPRETER = "_PyEval_EvalFrameDefault";

/** What {@linkcode returnRangeLengths} needs of other changes. */
interface RangeLengthParts {
  /** Functions that return the length of an object as an `int`. */
  readonly lengths: readonly number[];
  /** Function that converts an `int` to a size, and raises an exception if the size has more than 32 bits. */
  readonly exact: number;
}

/**
 * Lets `len` return the length of a range that has more items than a size can have. The range keeps its length as an
 * `int`. `len` asks for the size, and makes an `int` of it at once: a global holds the length in between.
 */
export function returnRangeLengths(module: CModule, { lengths, exact }: RangeLengthParts): void {
  const [size, result] = [module.functionOf(SIZE), module.functionOf(RESULT)];
  const kept = module.addGlobal();
  const sizeOrKept = module.addFunction(size, sizeCode(module, { kept, exact }));
  const resultOrKept = module.addFunction(result, resultCode(module, kept));
  for (const index of [...lengths, module.functionOf(INTERPRETER)]) {
    module.replaceCalls(index, size, { to: sizeOrKept });
    module.replaceCalls(index, result, { to: resultOrKept });
  }
}

/** A function that returns the size of an object. It keeps the length of a range that is too long, and returns 0. */
function sizeCode(module: CModule, { kept, exact }: { kept: number; exact: number }): Uint8Array {
  const call = (name: string) => callOf(module.functionOf(name));
  const [length, small] = [1, 2];
  const leaveIf = [BRANCH_IF, 0];
  const rangeType = [GET_GLOBAL, ...encodeNumber(module.globalOf("PyRange_Type"))];
  return new Uint8Array([
    ...[1, 2, NUMBER],
    ...[BLOCK, NOTHING, ...FIRST, LOAD, 2, 4, ...rangeType, UNEQUAL, ...leaveIf],
    ...[...FIRST, LOAD, 2, 20, TEE_LOCAL, length, ...callOf(exact), TEE_LOCAL, small, ...MINUS_ONE, UNEQUAL],
    ...[IF, NOTHING, GET_LOCAL, small, RETURN, END],
    ...[...call("PyErr_Clear"), GET_LOCAL, length, ...call("PyLong_AsLongLong"), ...MINUS_ONE_64, EQUAL_64],
    ...[IF, NOTHING, ...call("PyErr_Clear"), BRANCH, 1, END], // the size raises the right exception
    ...[GET_LOCAL, length, SET_GLOBAL, ...encodeNumber(kept), CONST, 0, RETURN, END],
    ...[...FIRST, ...call(SIZE), END],
  ]);
}

/** A function that returns the kept length, or makes an `int` of a size. */
function resultCode(module: CModule, kept: number): Uint8Array {
  const [read, write] = [[GET_GLOBAL, ...encodeNumber(kept)], [SET_GLOBAL, ...encodeNumber(kept)]];
  return new Uint8Array([
    0,
    ...[...read, IS_ZERO, IF, NOTHING, ...FIRST, ...callOf(module.functionOf(RESULT)), RETURN, END],
    ...[...read, SET_LOCAL, 0, CONST, 0, ...write],
    ...[...FIRST, ...callOf(module.functionOf("Py_IncRef")), ...FIRST, END],
  ]);
}
