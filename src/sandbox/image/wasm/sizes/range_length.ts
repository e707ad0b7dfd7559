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
  IF,
  LOAD,
  MINUS_ONE,
  MINUS_ONE_64,
  NOTHING,
  RETURN,
  SET_GLOBAL,
  SET_LOCAL,
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
  const [sizeOrKept, resultOrKept] = [module.addFunction(size), module.addFunction(result)];
  module.prepend(sizeOrKept, keepLength(module, { kept, exact }));
  module.prepend(resultOrKept, returnKept(module, kept));
  for (const index of [...lengths, module.functionOf(INTERPRETER)]) {
    module.replaceCalls(index, size, { to: sizeOrKept });
    module.replaceCalls(index, result, { to: resultOrKept });
  }
}

/** Code that keeps the length of the first parameter and returns 0, if the parameter is a range that is too long. */
function keepLength(module: CModule, { kept, exact }: { kept: number; exact: number }): Uint8Array {
  const call = (name: string) => callOf(module.functionOf(name));
  const leaveIf = [BRANCH_IF, 0];
  const rangeType = [GET_GLOBAL, ...encodeNumber(module.globalOf("PyRange_Type"))];
  const length = [...FIRST, LOAD, 2, 20];
  return new Uint8Array([
    ...[BLOCK, NOTHING, ...FIRST, LOAD, 2, 4, ...rangeType, UNEQUAL, ...leaveIf],
    ...[...length, ...callOf(exact), ...MINUS_ONE, UNEQUAL, ...leaveIf, ...call("PyErr_Clear")],
    ...[...length, ...call("PyLong_AsLongLong"), ...MINUS_ONE_64, EQUAL_64],
    ...[IF, NOTHING, ...call("PyErr_Clear"), BRANCH, 1, END], // the size raises the right exception
    ...[...length, SET_GLOBAL, ...encodeNumber(kept), CONST, 0, RETURN, END],
  ]);
}

/** Code that returns the kept length if there is one. */
function returnKept(module: CModule, kept: number): Uint8Array {
  const [read, write] = [[GET_GLOBAL, ...encodeNumber(kept)], [SET_GLOBAL, ...encodeNumber(kept)]];
  return new Uint8Array([
    ...[...read, IF, NOTHING, ...read, SET_LOCAL, 0, CONST, 0, ...write],
    ...[...FIRST, ...callOf(module.functionOf("Py_IncRef")), ...FIRST, RETURN, END],
  ]);
}
