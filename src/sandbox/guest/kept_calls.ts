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
export function withoutBridge(imports: WebAssembly.Imports): WebAssembly.Imports {
  const env = Object.entries(imports.env ?? {}).map(([name, call]) => [name, isKept(name) ? call : refuse]);
  return { ...imports, env: Object.fromEntries(env) };
}

function isKept(name: string): boolean {
  return KEPT.has(name) || KEPT_FAMILIES.test(name);
}

function refuse(): never {
  throw new Error("there is no way to JavaScript from here");
}
