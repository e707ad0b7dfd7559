import { Closures, limitCalls, stripJsBridge } from "./call_guard.ts";
import type { EmscriptenModule, FileSystem, ModuleFactory, Pointer, PythonExports } from "./emscripten.ts";
import { throwIfKilled } from "./ring.ts";
import { mountReadOnly, type ReadOnlyTree } from "./read_only_files.ts";

const PAGE_BYTES = 65536;
const OS_PAGE_BYTES = 4096;

/** What every interpreter starts from: code, and files that none can change. */
export interface PythonAssets {
  readonly module: WebAssembly.Module;
  readonly createModule: ModuleFactory;
  /** The exports of the module that Emscripten's JavaScript needs. */
  readonly exportNames: readonly string[];
  readonly trees: readonly ReadOnlyTree[];
  /** The bytes by which what runs is told to stop. */
  readonly interrupt: Uint8Array;
  /** Where a session's own files live. */
  readonly home: string;
}

/** A base image: the heap of a started interpreter, without its pages of zeros. */
export interface HeapImage {
  /** The address of `runner.handle`. */
  readonly handle: Pointer;
  readonly heapBytes: number;
  /** Where the pieces of `data` belong: pairs of address and length. */
  readonly runs: readonly (readonly [number, number])[];
  /** The part of the C stack that is unused between two calls; its contents mean nothing. */
  readonly deadStack: readonly [number, number];
  readonly data: Uint8Array;
}

/** An interpreter: its Wasm instance and its file system. */
export interface Python {
  readonly exports: PythonExports;
  readonly fs: FileSystem;
  readonly module: EmscriptenModule;
  readonly closures: Closures;
}

/** Starts an interpreter from a base image, without running any of Python's own start-up. */
export async function restorePython(assets: PythonAssets, image: HeapImage): Promise<Python> {
  const wasm = instantiator(assets, { heapBytes: image.heapBytes, runInitializers: false });
  const module = await assets.createModule({
    noInitialRun: true,
    print: () => {},
    printErr: () => {},
    API: { config: { env: {} }, runtimeEnv: { IN_BROWSER_WEB_WORKER: true } },
    instantiateWasm: wasm.instantiate,
    preRun: [(module: EmscriptenModule) => installFiles(module.FS, assets)],
    locateFile: (name: string) => name,
  });
  wasm.hideImports();
  const python = { exports: wasm.exports(), fs: module.FS, module, closures: wasm.closures };
  writeImage(python, image, { fresh: true });
  return python;
}

/**
 * Writes the image over the heap: its pages where they belong, zeros everywhere else. A fresh heap is
 * zero already.
 */
export function writeImage(python: Python, image: HeapImage, options: { fresh: boolean }): void {
  const heap = new Uint8Array(python.exports.memory.buffer);
  let from = 0;
  let end = 0;
  for (const [address, length] of image.runs) {
    if (!options.fresh) clear(heap, [end, address], image.deadStack);
    heap.set(image.data.subarray(from, from + length), address);
    from += length;
    end = address + length;
  }
  if (!options.fresh) clear(heap, [end, heap.length], image.deadStack);
}

/** Fills a gap with zeros, but for what of it is dead stack. */
function clear(heap: Uint8Array, gap: readonly [number, number], dead: readonly [number, number]): void {
  clearPages(heap, gap[0], Math.max(gap[0], Math.min(gap[1], dead[0])));
  clearPages(heap, Math.min(gap[1], Math.max(gap[0], dead[1])), gap[1]);
}

/** Zeros the pages that are not zero: one that was never written takes no memory, and is to take none. */
function clearPages(heap: Uint8Array, from: number, to: number): void {
  const start = Math.min(to, Math.ceil(from / OS_PAGE_BYTES) * OS_PAGE_BYTES);
  heap.fill(0, from, start);
  const words = new Int32Array(heap.buffer, 0, heap.length / 4);
  for (let page = start; page < to; page += OS_PAGE_BYTES) {
    if (!isZeroPage(words, page / 4)) heap.fill(0, page, Math.min(page + OS_PAGE_BYTES, to));
  }
}

/** Looks at four words at a time, which takes less than half of what one at a time does. */
function isZeroPage(words: Int32Array, from: number): boolean {
  const word = (at: number) => words[at] as number;
  let any = 0;
  for (let at = from; at < from + OS_PAGE_BYTES / 4; at += 4) {
    any |= word(at) | word(at + 1) | word(at + 2) | word(at + 3);
  }
  return any === 0;
}

/** Where models that were trained with a code interpreter look for files, and put theirs. */
const DATA_FOLDER = "/mnt/data";

/** Puts the read-only trees and the session's home in place; for a restored interpreter and one that is built. */
export function installFiles(
  fs: FileSystem,
  { trees, home }: Pick<PythonAssets, "trees" | "home">,
): void {
  for (const tree of trees) mountReadOnly(fs, tree);
  fs.mkdirTree(DATA_FOLDER);
  fs.mkdirTree(home);
  fs.chdir(home);
}

/** The hook through which Emscripten gets its instance, made of the module that all sessions share. */
export function instantiator(
  assets: PythonAssets,
  options: { heapBytes: number; runInitializers: boolean },
): {
  instantiate: (imports: WebAssembly.Imports, done: InstanceReceiver) => object;
  exports: () => PythonExports;
  /** Has Emscripten, which looks names up for Python, forget the functions of its own JavaScript. */
  hideImports: () => void;
  closures: Closures;
} {
  let exports: PythonExports | undefined;
  const heap = () => new Uint8Array((exports as PythonExports).memory.buffer);
  const closures = new Closures(heap);
  const hidden: (() => void)[] = [];
  return {
    instantiate(imports, done) {
      const { env = {} } = imports;
      for (const name of Object.keys(env)) hidden.push(() => Reflect.deleteProperty(env, name));
      const called = closures.watch(options.runInitializers ? imports : stripJsBridge(imports));
      const complete = limitCalls(completeImports(called, assets.interrupt), heap);
      WebAssembly.instantiate(assets.module, complete).then((instance) => {
        exports = instance.exports as unknown as PythonExports;
        growTo(exports.memory, options.heapBytes);
        const needed = neededExports(instance.exports, assets.exportNames);
        done(
          { exports: options.runInitializers ? needed : { ...needed, ...NO_INITIALIZERS } },
          assets.module,
        );
      });
      return {};
    },
    exports: () => exports as PythonExports,
    hideImports: () => hidden.forEach((hide) => hide()),
    closures,
  };
}

/** A heap that comes from an image has been through these. */
const NO_INITIALIZERS = { __wasm_call_ctors: () => {}, __wasm_apply_data_relocs: () => {} };

type InstanceReceiver = (instance: { exports: WebAssembly.Exports }, module: WebAssembly.Module) => void;

/**
 * Adds what Pyodide's loader would add, points the graphics functions, which none calls, at nothing, and has
 * who looks at the clock die when the session is to end.
 */
function completeImports(imports: WebAssembly.Imports, interrupt: Uint8Array): WebAssembly.Imports {
  const mark = Symbol("error");
  const nowhere = new WebAssembly.Global({ value: "i32", mutable: true }, 0);
  const now = imports.env?.emscripten_get_now as () => number;
  const functions = imports["GOT.func"] as Record<string, WebAssembly.Global>;
  return {
    ...imports,
    env: {
      ...imports.env,
      Jsv_GetError_import: () => mark,
      JsvError_Check: (value: unknown) => value === mark,
      emscripten_get_now() {
        throwIfKilled(interrupt);
        return now();
      },
    },
    "GOT.func": new Proxy(functions, {
      get: (target, name: string) => name.startsWith("emscripten_gl") ? nowhere : target[name],
    }) as WebAssembly.ModuleImports,
  };
}

/**
 * The data and the few functions that are needed by name. For every function it is shown, Emscripten makes
 * an entry in a table, which for all 8,000 takes a third of a start.
 */
function neededExports(exports: WebAssembly.Exports, names: readonly string[]): WebAssembly.Exports {
  return Object.fromEntries(names.map((name) => [name, exports[name] as WebAssembly.ExportValue]));
}

function growTo(memory: WebAssembly.Memory, bytes: number): void {
  const missing = Math.ceil((bytes - memory.buffer.byteLength) / PAGE_BYTES);
  if (missing > 0) memory.grow(missing);
}
