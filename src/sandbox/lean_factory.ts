/**
 * Where Emscripten gives every export an address, for libraries that are loaded later; there are none. It
 * costs a third of a start and some megabytes, as each function of the module becomes a JavaScript object.
 */
const ADDRESS_ALL_EXPORTS = "updateGOT(origExports);";

/** The JavaScript of Pyodide's module without what no session needs. */
export function leanFactory(factory: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(factory);
  return new TextEncoder().encode(text.replace(ADDRESS_ALL_EXPORTS, ""));
}
