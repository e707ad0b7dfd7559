import { stripTypeScriptTypes } from "node:module";
import type { ImagePlan } from "../guest/build.ts";
import { CALLED_BY_GUEST } from "../guest/emscripten.ts";
import bridge from "../guest/python/bridge.py" with { type: "text" };
import eventLoop from "../guest/python/event_loop.py" with { type: "text" };
import prepare from "../guest/python/prepare.py" with { type: "text" };
import program from "../guest/python/program.py" with { type: "text" };
import recursion from "../guest/python/recursion.py" with { type: "text" };
import runner from "../guest/python/runner.py" with { type: "text" };
import tools from "../guest/python/tools.py" with { type: "text" };
import type { Profile } from "../profile/profile.ts";
import type { PyodideFiles } from "./pyodide.ts";
import { stripWasm } from "./wasm.ts";
import { SHELL_ENGINE_FILES, SHELL_FILES, SUPERVISOR_FILES, WORKER_FILES } from "./guest_manifest.ts";
import shellBundle from "./shell_bundle.ts" with { type: "text" };

/** A JavaScript module of the guest, as it runs. */
export interface GuestModule {
  readonly name: string;
  readonly source: string;
}

/** Returns the supervisor's files, which are in one directory of the cache. `supervisor.js` is the main module. */
export function supervisorModules(): GuestModule[] {
  return Object.entries(SUPERVISOR_FILES).map(([name, source]) => ({
    name: `${name}.js`,
    source: stripTypeScriptTypes(source).replace(/(from )"\.{1,2}\/(?:\w+\/)*(\w+)\.ts"/g, '$1"./$2.js"'),
  }));
}

/** Returns the worker's modules, each after those it imports; the last is the worker itself. */
export function workerModules(): GuestModule[] {
  return guestModules(WORKER_FILES);
}

/** Returns the shell's modules beside its engine, which come after the worker's; the last is the shell itself. */
export function shellModules(): GuestModule[] {
  return guestModules(SHELL_FILES);
}

/** Sources of the shell's engine and of its build, which are part of an image's cache key. */
export const SHELL_ENGINE: readonly string[] = [...Object.values(SHELL_ENGINE_FILES), shellBundle];

/** The guest's Python modules, in the order in which they run, and the script that loads them into the image. */
export interface PythonSources {
  readonly modules: Readonly<Record<string, string>>;
  readonly prepare: string;
}

/** Returns the Python of an image. With a shell it also has the module that runs programs. */
export function pythonSources({ shell }: { shell: boolean }): PythonSources {
  const modules = { bridge, recursion, tools, event_loop: eventLoop, runner };
  return { modules: shell ? { ...modules, program } : modules, prepare };
}

function guestModules(modules: Readonly<Record<string, string>>): GuestModule[] {
  return Object.entries(modules).map(([name, source]) => ({
    name: `${name}.ts`,
    source: stripTypeScriptTypes(source),
  }));
}

/** Returns the plan of a profile's image, for a build in a process or in a worker. */
export function imagePlan(profile: Profile, { lock }: PyodideFiles): Omit<ImagePlan, "loaderUrl"> {
  const { modules: sources, prepare } = pythonSources(profile);
  const { preimports, preload } = profile;
  return { lock, sources, prepare, preimports, ...(preload && { preload }) };
}

/**
 * Returns the exports of the Wasm module that Emscripten's JavaScript needs: all data, and the functions that it
 * names.
 */
export function exportNames(module: WebAssembly.Module, { factory }: PyodideFiles): string[] {
  const text = new TextDecoder().decode(factory);
  const named = new Set([...text.matchAll(/wasmExports\["([^"]+)"\]/g)].map(([, name]) => name));
  return WebAssembly.Module.exports(module)
    .filter(({ name, kind }) => kind !== "function" || named.has(name))
    .map(({ name }) => name);
}

/** Returns the smaller Wasm module of an interpreter that is restored from an image. */
export function restoredWasm(wasm: Uint8Array, exports: readonly string[]): Uint8Array<ArrayBuffer> {
  return stripWasm(wasm, new Set([...exports, ...CALLED_BY_GUEST]));
}
