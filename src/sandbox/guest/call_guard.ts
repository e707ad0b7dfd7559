/**
 * What `ctypes` says of a C function is in Python's memory, where Python can write what it likes: a count of
 * arguments without end, or a structure that holds itself, in which Emscripten's JavaScript would search for ever.
 */

/** As many as `ctypes` takes. */
const MAX_ARGUMENTS = 1024;
const MAX_STRUCTURE_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
const STRUCTURE = 13;
/** Where the fields of libffi's `ffi_cif` and `ffi_type` are. */
const [CIF_COUNT, CIF_ARGUMENTS, CIF_RESULT, CIF_FIXED, CIF_BYTES] = [4, 8, 12, 24, 28];
const [TYPE_SIZE, TYPE_KIND, TYPE_ELEMENTS, TYPE_BYTES] = [0, 6, 8, 12];

/** Whether the description of a call at an address is none that `ctypes` makes. */
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

/** Follows a structure into its first field, as long as there is one. */
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

/**
 * What a call out of Python may ask at most, as on Linux: paths and names of so many bytes, so many pieces at once.
 * Emscripten's JavaScript has no such bounds, and takes the square of a path's length: nothing could end it. What
 * leads to a network or to code of Python's own is refused whatever is asked.
 */

const MAX_PATH_BYTES = 4096;
const MAX_PIECES = 1024;
const MAX_POLLED = 4096;
const PIECE_HEAD_BYTES = 8;
const [EACCES, EINVAL, ENAMETOOLONG, NO_SUCH_NAME, FAILED, BAD_TYPE] = [2, 28, 37, -2, 0, 1];

/** By the name of an import: which of its arguments are texts. */
const PATHS: Readonly<Record<string, readonly number[]>> = {
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
const PIECES = ["fd_read", "fd_write", "fd_pread", "fd_pwrite"];

/** What is refused always, and what it then gives. */
const CLOSED: Readonly<Record<string, number>> = {
  __syscall_socket: -EACCES,
  getaddrinfo: NO_SUCH_NAME,
  _emscripten_lookup_name: FAILED,
  _dlopen_js: FAILED,
  _emscripten_dlopen_js: FAILED,
};

/** The imports with those limits around them; `heap` gives Python's memory. */
export function limitCalls(imports: WebAssembly.Imports, heap: () => Uint8Array): WebAssembly.Imports {
  const env = { ...imports.env };
  const wasi = { ...imports.wasi_snapshot_preview1 };
  const isLong = (address = 0) =>
    !heap().subarray(address >>> 0, (address >>> 0) + MAX_PATH_BYTES).includes(0);
  for (const [name, places] of Object.entries(PATHS)) {
    guard(env, `__syscall_${name}`, (args) => places.some((at) => isLong(args[at])), -ENAMETOOLONG);
  }
  for (const [name, refusal] of Object.entries(CLOSED)) guard(env, name, () => true, refusal);
  guard(env, "__syscall_poll", ([, count = 0]) => count >>> 0 > MAX_POLLED, -EINVAL);
  guard(env, "ffi_call_js", ([call = 0]) => isForgedCall(heap(), call), FAILED);
  guard(env, "ffi_prep_closure_loc_js", ([, call = 0]) => isForgedCall(heap(), call), BAD_TYPE);
  for (const name of PIECES) {
    guard(wasi, name, ([, pieces = 0, count = 0]) => isTooMuch(heap(), pieces, count), EINVAL);
  }
  return { ...imports, env, wasi_snapshot_preview1: wasi };
}

/** Whether there are too many pieces, or together more of them than there is memory. */
function isTooMuch(heap: Uint8Array, pieces: number, count: number): boolean {
  if (count >>> 0 > MAX_PIECES) return true;
  const start = pieces >>> 0;
  if (start + count * PIECE_HEAD_BYTES > heap.length) return true;
  const view = new DataView(heap.buffer, start, count * PIECE_HEAD_BYTES);
  let bytes = 0;
  for (let at = 0; at < view.byteLength; at += PIECE_HEAD_BYTES) bytes += view.getUint32(at + 4, true);
  return bytes > heap.length;
}

/** Puts a function in the place of an import that gives `refusal` where too much is asked. */
function guard(
  imports: WebAssembly.ModuleImports,
  name: string,
  isRefused: (args: number[]) => boolean,
  refusal: number,
): void {
  const call = imports[name] as (...args: number[]) => number;
  imports[name] = (...args: number[]) => isRefused(args) ? refusal : call(...args);
}

/** What an interpreter calls of Emscripten's JavaScript: files, time, memory, and functions by their address. */
const KEPT_FAMILIES = /^(?:__syscall_|_?emscripten_(?:get|runtime)_|clock_|environ_|fd_|ffi_)/;
const KEPT = new Set([
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

/** The imports without Pyodide's bridge to JavaScript: whoever calls a function of it ends the interpreter. */
export function stripJsBridge(imports: WebAssembly.Imports): WebAssembly.Imports {
  const env = Object.entries(imports.env ?? {}).map(([name, call]) => [name, isKept(name) ? call : refuse]);
  return { ...imports, env: Object.fromEntries(env) };
}

function isKept(name: string): boolean {
  return KEPT.has(name) || KEPT_FAMILIES.test(name);
}

function refuse(): never {
  throw new Error("there is no way to JavaScript from here");
}

type Call = (...args: number[]) => number;

/**
 * The functions of Python's that `ctypes` lets C call. Each has a place in the table of functions, which is none of
 * Python's memory: nobody puts one in a place that was not made for it, and all places are given back by a rewind.
 */
export class Closures {
  readonly #heap: () => Uint8Array;
  readonly #places = new Map<number, number>();
  #giveBack: Call = () => 0;

  /** @param heap Gives Python's memory. */
  constructor(heap: () => Uint8Array) {
    this.#heap = heap;
  }

  /** The imports with those that make and free closures watched. */
  watch(imports: WebAssembly.Imports): WebAssembly.Imports {
    const { env = {} } = imports;
    const make = env.ffi_closure_alloc_js as Call;
    const prepare = env.ffi_prep_closure_loc_js as Call;
    this.#giveBack = env.ffi_closure_free_js as Call;
    const watched = {
      ffi_closure_alloc_js: (bytes: number, place: number) => {
        const closure = make(bytes, place);
        this.#places.set(closure, this.#words().getUint32(place >>> 0, true));
        return closure;
      },
      ffi_prep_closure_loc_js: (closure: number, ...rest: number[]) => {
        return this.#places.get(closure) === rest.at(-1) ? prepare(closure, ...rest) : BAD_TYPE;
      },
      ffi_closure_free_js: (closure: number) => this.#free(closure),
    };
    return { ...imports, env: { ...env, ...watched } };
  }

  /** Gives all places back, so that the first is the next to be taken. */
  freeAll(): void {
    for (const closure of [...this.#places.keys()].reverse()) this.#free(closure);
  }

  #free(closure: number): void {
    const place = this.#places.get(closure);
    if (place === undefined) return;
    this.#places.delete(closure);
    this.#words().setUint32(closure >>> 0, place, true); // Python may have written another there
    this.#giveBack(closure);
  }

  #words(): DataView {
    return new DataView(this.#heap().buffer);
  }
}
