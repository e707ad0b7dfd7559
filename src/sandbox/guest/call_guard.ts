/**
 * Checks of calls from Python to Emscripten's JavaScript.
 *
 * `ctypes` describes a C function in Python's memory, which Python can overwrite: a huge count of arguments, or a
 * structure that contains itself, would make Emscripten's JavaScript search without end.
 */

/** The limit of `ctypes`. */
const MAX_ARGUMENTS = 1024;
const MAX_STRUCTURE_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
const STRUCTURE = 13;
/** Offsets of fields, and sizes, of libffi's `ffi_cif` and `ffi_type`. */
const [CIF_COUNT, CIF_ARGUMENTS, CIF_RESULT, CIF_FIXED, CIF_BYTES] = [4, 8, 12, 24, 28];
const [TYPE_SIZE, TYPE_KIND, TYPE_ELEMENTS, TYPE_BYTES] = [0, 6, 8, 12];

/** True if `ctypes` cannot have written the call description at the address. */
export function isForgedCall(heap: Uint8Array, call: number): boolean {
  const view = new DataView(heap.buffer, heap.byteOffset, heap.length);
  const at = call >>> 0;
  if (at + CIF_BYTES > heap.length) return true;
  const count = view.getUint32(at + CIF_COUNT, true);
  if (count > MAX_ARGUMENTS || view.getUint32(at + CIF_FIXED, true) > count) return true;
  const types = view.getUint32(at + CIF_ARGUMENTS, true);
  if (types + 4 * count > heap.length) return true;
  if (isForgedType(view, view.getUint32(at + CIF_RESULT, true))) return true;
  for (let index = 0; index < count; index++) {
    if (isForgedType(view, view.getUint32(types + 4 * index, true))) return true;
  }
  return false;
}

/** Checks a type and, if it is a structure, its first field, and so on. */
function isForgedType(view: DataView, type: number): boolean {
  let at = type;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    if (at + TYPE_BYTES > view.byteLength) return true;
    if (view.getUint16(at + TYPE_KIND, true) !== STRUCTURE) return false;
    if (view.getUint32(at + TYPE_SIZE, true) > MAX_STRUCTURE_BYTES) return true;
    const elements = view.getUint32(at + TYPE_ELEMENTS, true);
    if (elements + 4 > view.byteLength) return true;
    at = view.getUint32(elements, true);
    if (at === 0) return false;
  }
  return true;
}

// Limits of calls out of Python, as on Linux. Emscripten's JavaScript has no such limits, and needs time that grows
// with the square of a path's length, in which nothing could stop it.

const MAX_PATH_BYTES = 4096;
const MAX_BUFFERS = 1024;
const MAX_POLLED = 4096;
const IOVEC_BYTES = 8;
const [EACCES, EINVAL, ENAMETOOLONG, NO_SUCH_NAME, FAILED, BAD_TYPE] = [2, 28, 37, -2, 0, 1];

/** Indexes of the path arguments, by the name of the system call. */
const PATH_ARGUMENTS: Readonly<Record<string, readonly number[]>> = {
  chdir: [0],
  chmod: [0],
  lstat64: [0],
  rmdir: [0],
  stat64: [0],
  statfs64: [0],
  truncate64: [0],
  faccessat: [1],
  fchmodat2: [1],
  fchownat: [1],
  mkdirat: [1],
  mknodat: [1],
  newfstatat: [1],
  openat: [1],
  readlinkat: [1],
  unlinkat: [1],
  utimensat: [1],
  renameat: [1, 3],
  symlinkat: [0, 2],
};
const VECTOR_CALLS = ["fd_read", "fd_write", "fd_pread", "fd_pwrite"];

/** Calls that are always denied, since they lead to a network or to native code, and the value they return. */
const DENIED_CALLS: Readonly<Record<string, number>> = {
  __syscall_socket: -EACCES,
  getaddrinfo: NO_SUCH_NAME,
  _emscripten_lookup_name: FAILED,
  _dlopen_js: FAILED,
  _emscripten_dlopen_js: FAILED,
};

/** Returns the imports with limits on their arguments. `heap` returns Python's memory. */
export function limitCalls(imports: WebAssembly.Imports, heap: () => Uint8Array): WebAssembly.Imports {
  const env = { ...imports.env };
  const wasi = { ...imports.wasi_snapshot_preview1 };
  const isLong = (address = 0) =>
    !heap().subarray(address >>> 0, (address >>> 0) + MAX_PATH_BYTES).includes(0);
  for (const [name, indexes] of Object.entries(PATH_ARGUMENTS)) {
    guard(env, `__syscall_${name}`, (args) => indexes.some((index) => isLong(args[index])), -ENAMETOOLONG);
  }
  for (const [name, errorCode] of Object.entries(DENIED_CALLS)) guard(env, name, () => true, errorCode);
  guard(env, "__syscall_poll", ([, count = 0]) => count >>> 0 > MAX_POLLED, -EINVAL);
  guard(env, "ffi_call_js", ([call = 0]) => isForgedCall(heap(), call), FAILED);
  guard(env, "ffi_prep_closure_loc_js", ([, call = 0]) => isForgedCall(heap(), call), BAD_TYPE);
  for (const name of VECTOR_CALLS) {
    guard(wasi, name, ([, vectors = 0, count = 0]) => exceedsLimits(heap(), vectors, count), EINVAL);
  }
  return { ...imports, env, wasi_snapshot_preview1: wasi };
}

/** True if there are too many buffers, or if their total size exceeds the memory. */
function exceedsLimits(heap: Uint8Array, vectors: number, count: number): boolean {
  if (count >>> 0 > MAX_BUFFERS) return true;
  const start = vectors >>> 0;
  if (start + count * IOVEC_BYTES > heap.length) return true;
  const view = new DataView(heap.buffer, start, count * IOVEC_BYTES);
  let bytes = 0;
  for (let at = 0; at < view.byteLength; at += IOVEC_BYTES) bytes += view.getUint32(at + 4, true);
  return bytes > heap.length;
}

/** Replaces an import by a function that returns `errorCode` if the arguments are denied. */
function guard(
  imports: WebAssembly.ModuleImports,
  name: string,
  isDenied: (args: number[]) => boolean,
  errorCode: number,
): void {
  const call = imports[name] as (...args: number[]) => number;
  imports[name] = (...args: number[]) => isDenied(args) ? errorCode : call(...args);
}

/** Imports that an interpreter needs: files, time, memory, and calls by address. */
const ALLOWED_PATTERN = /^(?:__syscall_|_?emscripten_(?:get|runtime)_|clock_|environ_|fd_|ffi_)/;
const ALLOWED_IMPORTS = new Set([
  "__assert_fail",
  "__call_sighandler",
  "_abort_js",
  "exit",
  "proc_exit",
  "random_get",
  "throw_no_gil",
  "_PyEM_TrampolineCall_JS",
  "_Py_CheckEmscriptenSignals_Helper",
  "_Py_emscripten_runtime",
  "_gmtime_js",
  "_localtime_js",
  "_mktime_js",
  "_timegm_js",
  "_tzset_js",
  "_setitimer_js",
  "_mmap_js",
  "_msync_js",
  "_munmap_js",
  "emscripten_resize_heap",
  "emscripten_date_now",
  "_dlopen_js",
  "_dlsym_js",
  "_emscripten_dlopen_js",
  "_emscripten_system",
  "_emscripten_lookup_name",
  "_maybe_connect_async",
  "_maybe_poll_async",
  "_maybe_recvfrom_async",
  "_maybe_sendto_async",
  "_try_fcntl64",
  "_try_shutdown",
  "getaddrinfo",
  "getnameinfo",
  "getprotobyname",
  "can_run_sync_js",
]);

/** Returns the imports without Pyodide's bridge to JavaScript. A call of a removed function ends the interpreter. */
export function stripJsBridge(imports: WebAssembly.Imports): WebAssembly.Imports {
  const env = { ...imports.env };
  for (const name of Object.keys(env)) {
    if (!isAllowed(name)) env[name] = rejectCall;
  }
  return { ...imports, env };
}

/** Namespace of imports with addresses of functions for graphics and for a console, which no interpreter calls. */
export const UNUSED_ADDRESSES = "GOT.func";

/** True if a restored interpreter can call an import of its module. */
export function isUsedImport({ module, name }: WebAssembly.ModuleImportDescriptor): boolean {
  return module === "env" ? isAllowed(name) : module !== UNUSED_ADDRESSES;
}

/** Returns the imports with a function that rejects all calls in place of those that do not exist. */
export function rejectMissing(imports: WebAssembly.Imports): WebAssembly.Imports {
  const env = new Proxy(imports.env ?? {}, {
    get: (target, name: string) => target[name] ?? rejectCall,
  });
  return { ...imports, env };
}

function isAllowed(name: string): boolean {
  return ALLOWED_IMPORTS.has(name) || ALLOWED_PATTERN.test(name);
}

function rejectCall(): never {
  throw new Error("calls to JavaScript are disabled");
}

type Call = (...args: number[]) => number;

/**
 * The Python functions that `ctypes` lets C call. Each has a slot in the function table, which is outside Python's
 * memory. Python cannot put a function into a slot that was not allocated for it, and a rewind frees all slots.
 */
export class Closures {
  readonly #heap: () => Uint8Array;
  readonly #slots = new Map<number, number>();
  #freeClosure: Call = () => 0;

  /** @param heap Returns Python's memory. */
  constructor(heap: () => Uint8Array) {
    this.#heap = heap;
  }

  /** Number of functions that C can call. */
  get count(): number {
    return this.#slots.size;
  }

  /** Returns the imports with wrappers around those that allocate and free closures. */
  wrapImports(imports: WebAssembly.Imports): WebAssembly.Imports {
    const { env = {} } = imports;
    const allocate = env.ffi_closure_alloc_js as Call;
    const prepare = env.ffi_prep_closure_loc_js as Call;
    this.#freeClosure = env.ffi_closure_free_js as Call;
    const wrapped = {
      ffi_closure_alloc_js: (bytes: number, slot: number) => {
        const closure = allocate(bytes, slot);
        this.#slots.set(closure, this.#words().getUint32(slot >>> 0, true));
        return closure;
      },
      ffi_prep_closure_loc_js: (closure: number, ...rest: number[]) => {
        return this.#slots.get(closure) === rest.at(-1) ? prepare(closure, ...rest) : BAD_TYPE;
      },
      ffi_closure_free_js: (closure: number) => this.#free(closure),
    };
    return { ...imports, env: { ...env, ...wrapped } };
  }

  /** Frees all slots, the first slot last, so that the first slot is the next to be allocated. */
  freeAll(): void {
    for (const closure of [...this.#slots.keys()].reverse()) this.#free(closure);
  }

  #free(closure: number): void {
    const slot = this.#slots.get(closure);
    if (slot === undefined) return;
    this.#slots.delete(closure);
    this.#words().setUint32(closure >>> 0, slot, true); // Python may have overwritten it
    this.#freeClosure(closure);
  }

  #words(): DataView {
    return new DataView(this.#heap().buffer);
  }
}
