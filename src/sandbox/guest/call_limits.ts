import { isForgedCall } from "./native_calls.ts";

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
