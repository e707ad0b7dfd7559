import type { PythonExports } from "../emscripten.ts";

/**
 * State of CPython's module that is not in its heap, and so in no image and no checkpoint. Its mutable globals are the
 * stack pointer, the two bounds of the C stack and the upper half of a 64-bit result. Its tables are that of functions,
 * which the linker and closures fill, and two of references to JavaScript values, of which a session has none.
 */

/** Functions that change a table of references. No C code of CPython calls them through the table of functions. */
const REFERENCE_CALLS = [
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

/**
 * Removes the functions that change a table of references from the table of functions. Returns their slots, which
 * `ctypes` must not call: Emscripten's JavaScript has a copy of the table.
 */
export function removeReferenceCalls(exports: PythonExports): ReadonlySet<number> {
  const { __indirect_function_table: table } = exports;
  const byName = exports as unknown as Record<string, unknown>;
  const calls = new Set(REFERENCE_CALLS.map((name) => byName[name]));
  const slots = new Set<number>();
  for (let slot = table.length - 1; slot > 0 && calls.size > 0; slot--) {
    if (!calls.delete(table.get(slot))) continue;
    table.set(slot, null);
    slots.add(slot);
  }
  return slots;
}
