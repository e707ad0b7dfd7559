import type { PythonExports } from "../emscripten.ts";

/**
 * State of CPython's module that is not in its heap, and so in no image and no checkpoint. Its mutable globals are the
 * stack pointer, the two bounds of the C stack and the upper half of a 64-bit result. Its tables are the table of
 * functions, which the linker and closures fill, and two of references to JavaScript values, of which a session has
 * none.
 */

/**
 * Functions that change a table of references. A restored interpreter has none of them: no C code of CPython calls
 * them through the table of functions.
 */
export const REFERENCE_CALLS: readonly string[] = [
  "_hiwire_set",
  "_hiwire_delete",
  "_hiwire_immortal_add",
  "_hiwire_immortal_table_init",
];

/** Sets the globals that a program can change by `ctypes`, except the stack pointer. */
export function resetGlobals(exports: PythonExports): void {
  exports.emscripten_stack_init();
  exports.setTempRet0(0);
}
