import { UNUSED_ADDRESSES } from "../call_guard.ts";
import { textAt } from "../denials.ts";
import type { PythonExports } from "../emscripten.ts";

/** Custom section of the main module with a JSON object: the slots of its functions in the table, by their names. */
export const FUNCTION_SLOTS = "paddock.functions";

type Find = (handle: number, name: number, index: number) => number;

/**
 * Returns the main module's imports with its own symbols behind `dlsym`, which `ctypes` calls: data are exports, and
 * functions are in the table.
 *
 * What the module imports as addresses is 0: no interpreter calls these functions.
 *
 * @param exports Returns the functions of the instance.
 */
export function addressFunctions(
  imports: WebAssembly.Imports,
  module: WebAssembly.Module,
  exports: () => PythonExports,
): WebAssembly.Imports {
  const { env = {} } = imports;
  const find = env._dlsym_js as Find;
  const nowhere = new WebAssembly.Global({ value: "i32", mutable: true }, 0);
  let slots: Readonly<Record<string, number>> | undefined;
  const addressOf = (name: string) => {
    const symbols = exports() as unknown as WebAssembly.Exports;
    const exported = Object.hasOwn(symbols, name) ? symbols[name] : undefined;
    if (exported instanceof WebAssembly.Global) return Number(exported.value);
    slots ??= readSlots(module);
    return Object.hasOwn(slots, name) ? slots[name] : undefined;
  };
  const _dlsym_js: Find = (handle, name, index) =>
    addressOf(textAt(new Uint8Array(exports().memory.buffer), name)) ?? find(handle, name, index);
  return {
    ...imports,
    env: { ...env, _dlsym_js },
    [UNUSED_ADDRESSES]: new Proxy({}, { get: () => nowhere }),
  };
}

function readSlots(module: WebAssembly.Module): Record<string, number> {
  const [section = new ArrayBuffer()] = WebAssembly.Module.customSections(module, FUNCTION_SLOTS);
  return JSON.parse(new TextDecoder().decode(section));
}
