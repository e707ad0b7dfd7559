import type { ImagePlan } from "./guest/build.ts";
import { CALLED_BY_GUEST } from "./guest/emscripten.ts";
import { pythonSources } from "./guest_sources.ts";
import { leanWasm } from "./lean_wasm.ts";
import type { Profile } from "./profile.ts";
import type { PyodideFiles } from "./pyodide_files.ts";

/** What a profile's image is made of, wherever it is made. */
export function imagePlan(profile: Profile, { lock }: PyodideFiles): Omit<ImagePlan, "loaderUrl"> {
  const { modules: sources, prepare } = pythonSources(profile);
  const { preimports, preload } = profile;
  return { lock, sources, prepare, preimports, ...(preload && { preload }) };
}

/** What of the Wasm module Emscripten's JavaScript needs: all data, and the functions that it names. */
export function exportNames(module: WebAssembly.Module, { factory }: PyodideFiles): string[] {
  const text = new TextDecoder().decode(factory);
  const named = new Set([...text.matchAll(/wasmExports\["([^"]+)"\]/g)].map(([, name]) => name));
  return WebAssembly.Module.exports(module)
    .filter(({ name, kind }) => kind !== "function" || named.has(name))
    .map(({ name }) => name);
}

/** The module of an interpreter that is restored, made of the whole one. */
export function restoredWasm(wasm: Uint8Array, exports: readonly string[]): Uint8Array<ArrayBuffer> {
  return leanWasm(wasm, new Set([...exports, ...CALLED_BY_GUEST]));
}
