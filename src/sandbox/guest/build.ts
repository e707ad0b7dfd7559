import type { EmscriptenModule, ModuleFactory, PythonExports } from "./emscripten.ts";
import { createInstantiator, installFiles, type PythonAssets, restorePython } from "./python/interpreter.ts";
import { type HeapImage, type ImageLayout, PAGE_BYTES } from "./heap_image.ts";

/** Shorter gaps of zeros are copied: a long copy is faster than two short copies. */
const MIN_GAP_BYTES = 4 * PAGE_BYTES;
/** An image that was just built. */
export interface BuiltImage extends ImageLayout {
  /** The pieces in sequence. */
  readonly data: Uint8Array;
}

/** Inputs of a plain image, in addition to the assets of every session. */
export interface PlainImagePlan {
  readonly loaderUrl: string;
  readonly lock: string;
  /** The Python file with the function that extends the image. */
  readonly prepare: string;
  readonly preimports: readonly string[];
  /** Part of the C stack that Python uses, in bytes. At its end Python raises RecursionError. */
  readonly cStackBytes: number;
  /** Names, numbers and texts of the errors of Linux. */
  readonly errors: readonly (readonly [name: string, linux: number, text: string])[];
  /** The texts of C's errors by the numbers of Linux. */
  readonly errorTexts: HeapPatch;
}

/** Bytes at an address of the heap. */
export interface HeapPatch {
  readonly address: number;
  readonly base64: string;
}

/** Additions of a profile to a plain image. */
export interface ImageExtension {
  /** The guest's Python files, in execution order. */
  readonly sources: Readonly<Record<string, string>>;
  readonly preimports: readonly string[];
  /** Name of the profile in errors. */
  readonly profile: string;
  readonly preload?: { readonly module: string; readonly source: string };
  /** Additional environment variables of programs. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts Pyodide with its own loader, prepares it, and returns its heap. */
export async function buildPlainHeap(assets: PythonAssets, plan: PlainImagePlan): Promise<BuiltImage> {
  const wasm = createInstantiator(assets, {
    heapBytes: 0,
    cStackBytes: plan.cStackBytes,
    runInitializers: true,
  });
  const { loadPyodide } = await import(plan.loaderUrl) as {
    loadPyodide: (options: object) => Promise<Pyodide>;
  };
  const pyodide = await loadPyodide({
    indexURL: "file:///",
    env: { HOME: "/home/pyodide", PYTHONHASHSEED: "0", LANG: "C.UTF-8", USER: "pyodide", PATH: "/" },
    lockFileContents: plan.lock,
    createPyodideModule: (settings: Record<string, unknown>) =>
      createForBuild(assets, settings, wasm.instantiate),
  });
  const handle = prepare(pyodide, plan);
  setLimits(pyodide._module, wasm.exports(), plan);
  const { address, base64 } = plan.errorTexts;
  new Uint8Array(wasm.exports().memory.buffer).set(Uint8Array.fromBase64(base64), address);
  return copyHeap(wasm.exports(), { handle, cStackBytes: plan.cStackBytes });
}

/**
 * Restores an interpreter from a plain image, extends it, and returns its heap. Its Python cannot call JavaScript, as
 * in a session.
 *
 * @throws {Error} if the extension fails; the message is Python's traceback.
 */
export async function extendImage(
  assets: PythonAssets,
  image: HeapImage,
  extension: ImageExtension,
): Promise<BuiltImage> {
  const { exports, stack, linker } = await restorePython(assets, image);
  const request = new TextEncoder().encode(JSON.stringify(extension));
  const reply = await stack.callWithThreads(image.handle, request);
  const { handle = 0, error } = JSON.parse(new TextDecoder().decode(reply)) as ExtendReply;
  if (error !== undefined) throw new Error(error);
  exports.emscripten_stack_init(); // in a restored interpreter the bounds of the stack are not set
  const links = linker.capture();
  return { ...copyHeap(exports, { handle, cStackBytes: image.cStackBytes }), ...(links && { links }) };
}

/**
 * Compiles Python files, each with its path in the guest, and passes on their byte code, which is empty if a file is
 * not valid Python.
 */
export async function compileFiles(
  assets: PythonAssets,
  image: HeapImage,
  { paths, onFile }: { paths: readonly string[]; onFile: (code: Uint8Array) => void },
): Promise<void> {
  const { stack } = await restorePython(assets, image);
  for (const path of paths) {
    const request = new TextEncoder().encode(JSON.stringify({ compile: path }));
    onFile(await stack.callWithThreads(image.handle, request));
  }
}

/** Reply of Python's `extend`. */
interface ExtendReply {
  readonly handle?: number;
  readonly error?: string;
}

interface Pyodide {
  readonly _module: EmscriptenModule;
  runPython(code: string, options: { globals: unknown; filename: string }): unknown;
  toPy(
    value: unknown,
  ): { destroy(): void; get(name: string): ((...args: unknown[]) => number) & { destroy(): void } };
}

function createForBuild(
  assets: PythonAssets,
  settings: Record<string, unknown>,
  instantiateWasm: unknown,
): ReturnType<ModuleFactory> {
  settings.instantiateWasm = instantiateWasm;
  const steps = settings.preRun as ((module: EmscriptenModule) => void)[];
  steps[0] = (module) => {
    Object.assign(module.API as object, {
      pyVersionTuple: [3, 14, 2],
      sitePackages: "/lib/python3.14/site-packages",
    });
    installFiles(module.FS, assets);
  };
  return assets.createModule(settings);
}

function prepare(pyodide: Pyodide, plan: PlainImagePlan): number {
  const scope = pyodide.toPy({});
  pyodide.runPython(plan.prepare, { globals: scope, filename: "<paddock prepare>" });
  const run = scope.get("prepare");
  const [preimports, errors] = [pyodide.toPy(plan.preimports), pyodide.toPy(plan.errors)];
  const handle = run(preimports, errors);
  for (const proxy of [run, preimports, errors, scope]) proxy.destroy();
  return handle;
}

/** Lets interrupts and overflows of the C stack raise exceptions. */
function setLimits(
  module: EmscriptenModule,
  exports: PythonExports,
  { cStackBytes }: PlainImagePlan,
): void {
  module.HEAP8[module._Py_EMSCRIPTEN_SIGNAL_HANDLING] = 1;
  hideOwnFrames(exports);
  const base = exports.emscripten_stack_get_base();
  exports.PyUnstable_ThreadState_SetStackProtection(
    exports.PyThreadState_Get(),
    base - cStackBytes,
    cStackBytes,
  );
}

/** Python frames of the guest below a program that runs as a file. */
const OWN_FRAMES = 5;
/** CPython's limit of recursion. The state of an idle thread has it twice: the frames that are left, and the limit. */
const RECURSION_LIMIT = 1000;
const MAX_STATE_WORDS = 32;

/** Lets programs have as many frames as `python` lets them have: frames of the guest do not count. */
function hideOwnFrames(exports: PythonExports): void {
  const words = new Int32Array(exports.memory.buffer, exports.PyThreadState_Get(), MAX_STATE_WORDS);
  const at = words.indexOf(RECURSION_LIMIT);
  if (at < 0 || words[at + 1] !== RECURSION_LIMIT) {
    throw new Error(
      `Cannot raise frames that are left as the thread's state must have them before the limit`,
    );
  }
  words[at] = RECURSION_LIMIT + OWN_FRAMES;
}

/**
 * Zeros the allocator's free memory, so that it takes no space in the image: allocates it in ever smaller pieces,
 * clears them, and frees them.
 */
function clearFreeMemory(exports: PythonExports): void {
  const end = exports.sbrk(0);
  const pieces: number[] = [];
  for (let size = 1 << 20; size >= 1 << 10; size >>= 1) {
    let piece = exports.malloc(size);
    while (piece !== 0 && piece + size <= end) {
      new Uint8Array(exports.memory.buffer).fill(0, piece, piece + size);
      pieces.push(piece);
      piece = exports.malloc(size);
    }
    if (piece !== 0) exports.free(piece);
  }
  pieces.forEach((piece) => exports.free(piece));
}

/** Returns the heap in the state that each session starts from. */
function copyHeap(
  exports: PythonExports,
  { handle, cStackBytes }: Pick<ImageLayout, "handle" | "cStackBytes">,
): BuiltImage {
  exports.Py_IncRef(handle);
  clearFreeMemory(exports);
  const heap = new Uint8Array(exports.memory.buffer);
  heap.fill(0, exports.emscripten_stack_get_end(), Number(exports.__stack_pointer.value)); // unused stack
  const runs = findRuns(heap);
  const data = new Uint8Array(runs.reduce((sum, [, length]) => sum + length, 0));
  let at = 0;
  for (const [address, length] of runs) {
    data.set(heap.subarray(address, address + length), at);
    at += length;
  }
  return { handle, cStackBytes, heapBytes: heap.length, runs, data };
}

/** Returns address and length of each run of pages that are not all zeros. */
function findRuns(heap: Uint8Array): [number, number][] {
  const words = new BigUint64Array(heap.buffer as ArrayBuffer, heap.byteOffset, heap.length / 8);
  const runs: [number, number][] = [];
  for (let page = 0; page < heap.length; page += PAGE_BYTES) {
    const start = page / 8;
    if (words.subarray(start, start + PAGE_BYTES / 8).every((word) => word === 0n)) continue;
    const last = runs.at(-1);
    if (last && page - (last[0] + last[1]) < MIN_GAP_BYTES) last[1] = page + PAGE_BYTES - last[0];
    else runs.push([page, PAGE_BYTES]);
  }
  return runs;
}
