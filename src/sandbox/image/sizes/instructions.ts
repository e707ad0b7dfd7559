import { encodeSigned } from "../wasm.ts";

/** Instructions of WebAssembly. */
export const [BLOCK, IF, ELSE, END, BRANCH, BRANCH_IF, RETURN] = [0x02, 0x04, 0x05, 0x0b, 0x0c, 0x0d, 0x0f];
export const [GET_LOCAL, SET_LOCAL, TEE_LOCAL, GET_GLOBAL, SET_GLOBAL] = [0x20, 0x21, 0x22, 0x23, 0x24];
export const [LOAD, LOAD_64, CONST, CONST_64] = [0x28, 0x29, 0x41, 0x42];
export const [IS_ZERO, EQUAL, UNEQUAL, AT_LEAST, ADD] = [0x45, 0x46, 0x47, 0x4f, 0x6a];
export const [EQUAL_64, UNEQUAL_64, LESS_64] = [0x51, 0x52, 0x53];

/** Types of values and blocks. */
export const [NOTHING, NUMBER, NUMBER_64] = [0x40, 0x7f, 0x7e];

/** Instructions that push a number. */
export const MINUS_ONE = [CONST, 0x7f];
export const MINUS_ONE_64 = [CONST_64, 0x7f];
export const MAX_SIZE_32 = [CONST, ...encodeSigned(2n ** 31n - 1n)];
export const MIN_SIZE_32 = [CONST, 0x80, 0x80, 0x80, 0x80, 0x78];
export const MAX_SIZE_64 = [CONST_64, ...encodeSigned(2n ** 63n - 1n)];

/** Instructions that push a parameter. */
export const FIRST = [GET_LOCAL, 0];
export const SECOND = [GET_LOCAL, 1];

/** Returns -1 if the number on the stack is not 0. */
export const RETURN_FAILURE = [IF, NOTHING, ...MINUS_ONE, RETURN, END];
