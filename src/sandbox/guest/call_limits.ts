/**
 * What a call out of Python may ask at most, as on Linux: paths and names of so many bytes, so many pieces at once.
 * Emscripten's JavaScript has no such bounds, and takes the square of a path's length: nothing could end it.
 */

const MAX_PATH_BYTES = 4096;
const MAX_PIECES = 1024;
const MAX_POLLED = 4096;
const [EINVAL, ENAMETOOLONG, NO_SUCH_NAME] = [28, 37, -2];

/** By the name of an import: which of its arguments are texts. */
const PATHS: Readonly<Record<string, readonly number[]>> = {
  ...{ chdir: [0], chmod: [0], lstat64: [0], rmdir: [0], stat64: [0], statfs64: [0], truncate64: [0] },
  ...{ faccessat: [1], fchmodat2: [1], fchownat: [1], mkdirat: [1], mknodat: [1], newfstatat: [1] },
  ...{ openat: [1], readlinkat: [1], unlinkat: [1], utimensat: [1] },
  ...{ renameat: [1, 3], symlinkat: [0, 2] },
};
const PIECES = ["fd_read", "fd_write", "fd_pread", "fd_pwrite"];

/** The imports with those limits around them; `heap` gives Python's memory. */
export function limitCalls(imports: WebAssembly.Imports, heap: () => Uint8Array): WebAssembly.Imports {
  const env = { ...imports.env };
  const wasi = { ...imports.wasi_snapshot_preview1 };
  const isLong = (address = 0) =>
    !heap().subarray(address >>> 0, (address >>> 0) + MAX_PATH_BYTES).includes(0);
  for (const [name, places] of Object.entries(PATHS)) {
    guard(env, `__syscall_${name}`, (args) => places.some((at) => isLong(args[at])), -ENAMETOOLONG);
  }
  guard(env, "getaddrinfo", (args) => isLong(args[0]) || isLong(args[1]), NO_SUCH_NAME);
  guard(env, "_emscripten_lookup_name", ([name]) => isLong(name), 0);
  guard(env, "__syscall_poll", ([, count = 0]) => count >>> 0 > MAX_POLLED, -EINVAL);
  for (const name of PIECES) guard(wasi, name, ([, , count = 0]) => count >>> 0 > MAX_PIECES, EINVAL);
  return { ...imports, env, wasi_snapshot_preview1: wasi };
}

/** Puts a function in the place of an import that gives `refusal` where too much is asked. */
function guard(
  imports: WebAssembly.ModuleImports,
  name: string,
  isTooMuch: (args: number[]) => boolean,
  refusal: number,
): void {
  const call = imports[name] as (...args: number[]) => number;
  imports[name] = (...args: number[]) => isTooMuch(args) ? refusal : call(...args);
}
