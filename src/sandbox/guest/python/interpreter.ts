import { Closures, limitCalls, rejectMissing, stripJsBridge } from "../call_guard.ts";
import type { EmscriptenModule, FileSystem, ModuleFactory, Pointer, PythonExports } from "../emscripten.ts";
import { throwIfKilled } from "../ring.ts";
import { mountReadOnly, type ReadOnlyTree } from "../files/read_only_files.ts";
import { Denials } from "../denials.ts";
import { Linker } from "./linker.ts";
import { LocalTime } from "./local_time.ts";
import { addressFunctions } from "./main_functions.ts";
import type { NativeCode } from "./side_module.ts";
import { PythonStack, Suspending } from "./stack.ts";
import { PythonThreads } from "./threads.ts";
import { HeapDelta } from "../checkpoint/heap_delta.ts";
import { createImageWriter, type HeapImage } from "../heap_image.ts";
import { WallClock } from "../wall_clock.ts";

const WASM_PAGE_BYTES = 65536;

/** Code and read-only files that all interpreters start from. */
export interface PythonAssets {
  readonly module: WebAssembly.Module;
  readonly createModule: ModuleFactory;
  readonly trees: readonly ReadOnlyTree[];
  readonly native: NativeCode;
  /** Bytes that the supervisor sets to interrupt or kill the running code. */
  readonly interrupt: Uint8Array;
  /** The clock that programs see as the time of day. */
  readonly wallClock: Pick<WallClock, "nanoseconds">;
  /** The session's home directory. */
  readonly home: string;
}

/** An interpreter: its Wasm instance and its file system. */
export interface Python {
  readonly exports: PythonExports;
  readonly fs: FileSystem;
  readonly module: EmscriptenModule;
  readonly closures: Closures;
  readonly heapLimit: HeapLimit;
  readonly stack: PythonStack;
  readonly threads: PythonThreads;
  readonly localTime: LocalTime;
  readonly linker: Linker;
  readonly denials: Denials;
  /** Writes the base image to the heap. */
  readonly writeImage: ReturnType<typeof createImageWriter>;
  /** The difference between the heap and the base image. */
  readonly heapDelta: HeapDelta;
}

/** Starts an interpreter from a base image, without Python's own start-up. */
export async function restorePython(assets: PythonAssets, image: HeapImage): Promise<Python> {
  const { heapBytes, cStackBytes } = image;
  const wasm = createInstantiator(assets, { heapBytes, cStackBytes, runInitializers: false });
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
  const exports = wasm.exports();
  const python = {
    exports,
    fs: module.FS,
    module,
    closures: wasm.closures,
    heapLimit: wasm.heapLimit,
    stack: new PythonStack(exports, wasm.threads, image.handle),
    threads: wasm.threads,
    localTime: wasm.localTime,
    linker: wasm.linker,
    denials: wasm.denials,
    writeImage: createImageWriter(exports.memory, image),
    heapDelta: new HeapDelta(exports.memory, image),
  };
  wasm.linker.restore(image.links);
  python.writeImage({ used: false });
  return python;
}

/** The folder where models that were trained with a code interpreter expect and put files. */
const DATA_FOLDER = "/mnt/data";
/** Folder where programs look for time zones, and the folder of the library. */
const [ZONES_FOLDER, ZONES] = ["/usr/share/zoneinfo", "/lib/zoneinfo"];

/** Creates the read-only trees and the session's home, both in a restored and in a new interpreter. */
export function installFiles(
  fs: FileSystem,
  { trees, home }: Pick<PythonAssets, "trees" | "home">,
): void {
  for (const tree of trees) mountReadOnly(fs, tree);
  fs.mkdirTree(DATA_FOLDER);
  fs.mkdirTree(ZONES_FOLDER.slice(0, ZONES_FOLDER.lastIndexOf("/")));
  fs.symlink(ZONES, ZONES_FOLDER);
  fs.mkdirTree(home);
  fs.chdir(home);
}

/** Creates the hook that gives Emscripten an instance of the module that all sessions share. */
export function createInstantiator(
  assets: PythonAssets,
  options: Pick<HeapImage, "heapBytes" | "cStackBytes"> & { runInitializers: boolean },
): {
  instantiate: (imports: WebAssembly.Imports, done: InstanceReceiver) => object;
  exports: () => PythonExports;
  /** Removes the imported JavaScript functions, so that Python cannot look them up by name through Emscripten. */
  hideImports: () => void;
  closures: Closures;
  heapLimit: HeapLimit;
  threads: PythonThreads;
  localTime: LocalTime;
  linker: Linker;
  denials: Denials;
} {
  let exports: PythonExports | undefined;
  const heap = () => new Uint8Array((exports as PythonExports).memory.buffer);
  const closures = new Closures(heap);
  const heapLimit = new HeapLimit(() => exports as PythonExports);
  const threads = new PythonThreads(() => exports as PythonExports, options.cStackBytes);
  const localTime = new LocalTime(() => exports as PythonExports);
  const linker = new Linker(assets.native.libraries, () => exports as PythonExports);
  const denials = new Denials([assets.home, ...assets.trees.map(({ at }) => at)]);
  const hidden: (() => void)[] = [];
  return {
    instantiate(imports, done) {
      const { env = {} } = imports;
      for (const name of Object.keys(env)) hidden.push(() => Reflect.deleteProperty(env, name));
      const allowed = options.runInitializers ? imports : stripJsBridge(imports);
      const addressed = addressFunctions(allowed, assets.module, () => exports as PythonExports);
      const watched = heapLimit.wrapImports(closures.wrapImports(localTime.wrapImports(addressed)));
      const limited = linker.wrapImports(
        denials.wrapImports(
          limitCalls(completeImports(watched, assets, heap), heap),
          heap,
        ),
      );
      const complete = rejectMissing(
        options.runInitializers ? limited : threads.wrapImports(limited, Suspending),
      );
      WebAssembly.instantiate(assets.module, complete).then((instance) => {
        exports = instance.exports as unknown as PythonExports;
        growTo(exports.memory, options.heapBytes);
        heapLimit.wrapMemory(exports.memory);
        const initialized: WebAssembly.Exports = { ...instance.exports, ...EMPTY_INITIALIZERS };
        done({ exports: options.runInitializers ? instance.exports : initialized }, assets.module);
      });
      return {};
    },
    exports: () => exports as PythonExports,
    hideImports: () => hidden.forEach((hide) => hide()),
    closures,
    heapLimit,
    threads,
    localTime,
    linker,
    denials,
  };
}

/**
 * Limits the growth of a heap below the maximum of its module. Emscripten grows it by more than a program needs, so
 * that both the request and the growth are bounded.
 */
class HeapLimit {
  readonly #exports: () => PythonExports;
  #bytes = Infinity;
  #resize: (bytes: number) => boolean = () => false;
  /** Place of the address of the heap's end; 0 until it is needed. */
  #endPointer = 0;

  /** @param exports Returns the functions of the instance. */
  constructor(exports: () => PythonExports) {
    this.#exports = exports;
  }

  /** Returns the imports with a wrapper around that by which a program gets more memory. */
  wrapImports(imports: WebAssembly.Imports): WebAssembly.Imports {
    const { env = {} } = imports;
    const resize = this.#resize = env.emscripten_resize_heap as (bytes: number) => boolean;
    const limited = (bytes: number) => bytes >>> 0 <= this.#bytes && resize(bytes);
    return { ...imports, env: { ...env, emscripten_resize_heap: limited } };
  }

  /** Bounds what Emscripten adds to a memory. */
  wrapMemory(memory: WebAssembly.Memory): void {
    const grow = memory.grow.bind(memory);
    memory.grow = (pages) =>
      grow(Math.min(pages, Math.floor((this.#bytes - memory.buffer.byteLength) / WASM_PAGE_BYTES)));
  }

  /**
   * Peak size of the heap since the start or the last rewind, in bytes, as `malloc` returns no memory. What a limit below
   * the size of the heap took from the program counts. It is read from memory, since a call of C takes a new stack, which
   * for `sbrk` would be a quarter of the time of a short exec.
   */
  get peakBytes(): number {
    const { memory, emscripten_get_sbrk_ptr } = this.#exports();
    this.#endPointer ||= emscripten_get_sbrk_ptr() >>> 0;
    return new Uint32Array(memory.buffer)[this.#endPointer / 4] ?? 0;
  }

  /** Grows the heap to a size, if it is smaller. Throws if it cannot be so large. */
  growTo(bytes: number): void {
    const { memory } = this.#exports();
    if (memory.buffer.byteLength >= bytes) return;
    this.#bytes = bytes;
    const hasGrown = this.#resize(bytes);
    this.clear();
    if (!hasGrown) throw new Error(`Cannot grow heap as there is no memory for ${bytes} bytes`);
  }

  /** Sets the limit. If the heap is larger already, what is free above the limit is taken from the program. */
  set(bytes: number): void {
    this.#bytes = bytes;
    const { memory, sbrk } = this.#exports();
    const { byteLength } = memory.buffer;
    if (byteLength <= bytes) return;
    const free = byteLength - this.peakBytes;
    sbrk(Math.max(0, Math.min(byteLength - bytes, free)) & ~15);
  }

  /** Removes the limit. Memory that was taken from the program returns with a rewind. */
  clear(): void {
    this.#bytes = Infinity;
  }
}

/** Replacements for the initializers, which the heap of an image has already passed. */
const EMPTY_INITIALIZERS = { __wasm_call_ctors: () => {}, __wasm_apply_data_relocs: () => {} };

type InstanceReceiver = (instance: { exports: WebAssembly.Exports }, module: WebAssembly.Module) => void;

/** Number of the clock with the time of day, in C's `clock_gettime`. */
const REALTIME = 0;

type ReadClock = (clock: number, precision: bigint, address: Pointer) => number;
type ReadResolution = (clock: number, address: Pointer) => number;

/**
 * Adds the imports that Pyodide's loader would add, makes the time of day as precise as other clocks, and makes reads of
 * clocks throw once the session is being killed.
 */
function completeImports(
  imports: WebAssembly.Imports,
  { interrupt, wallClock }: Pick<PythonAssets, "interrupt" | "wallClock">,
  heap: () => Uint8Array,
): WebAssembly.Imports {
  const mark = Symbol("error");
  const now = imports.env?.emscripten_get_now as () => number;
  const readClock = imports.wasi_snapshot_preview1?.clock_time_get as ReadClock;
  const readResolution = imports.wasi_snapshot_preview1?.clock_res_get as ReadResolution;
  const writeTimeOfDay = (address: Pointer) => {
    throwIfKilled(interrupt);
    new BigInt64Array(heap().buffer)[address >>> 3] = wallClock.nanoseconds();
    return 0;
  };
  const writeResolution = (address: Pointer) => {
    new BigInt64Array(heap().buffer)[address >>> 3] = WallClock.RESOLUTION_NS;
    return 0;
  };
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
    wasi_snapshot_preview1: {
      ...imports.wasi_snapshot_preview1,
      clock_time_get: (clock: number, precision: bigint, address: Pointer) =>
        clock === REALTIME ? writeTimeOfDay(address) : readClock(clock, precision, address),
      clock_res_get: (clock: number, address: Pointer) =>
        clock === REALTIME ? writeResolution(address) : readResolution(clock, address),
    },
  };
}

function growTo(memory: WebAssembly.Memory, bytes: number): void {
  const missing = Math.ceil((bytes - memory.buffer.byteLength) / WASM_PAGE_BYTES);
  if (missing > 0) memory.grow(missing);
}
