import type { Pointer, PythonExports } from "./emscripten.ts";

/**
 * A Wasm module that passes requests to a Python function and replies to the guest. `serve` does so until `next`
 * returns a negative number. JavaScript enters Wasm once for all requests, since each entry takes a new stack, which
 * may be large.
 *
 * ```wat
 * (module
 *   (import "python" "PyBytes_FromStringAndSize" (func $new_bytes (param i32 i32) (result i32)))
 *   (import "python" "PyBytes_AsString" (func $address (param i32) (result i32)))
 *   (import "python" "PyBytes_Size" (func $size (param i32) (result i32)))
 *   (import "python" "PyObject_CallOneArg" (func $call_object (param i32 i32) (result i32)))
 *   (import "python" "Py_DecRef" (func $release (param i32)))
 *   (import "host" "next" (func $next (result i32)))
 *   (import "host" "write" (func $write (param i32)))
 *   (import "host" "read" (func $read (param i32 i32)))
 *   (import "host" "fail" (func $fail (param i32)))
 *   (func $call (export "call") (param $callable i32) (param $bytes i32)
 *     (local $argument i32) (local $result i32)
 *     (local.set $argument (call $new_bytes (i32.const 0) (local.get $bytes)))
 *     (if (i32.eqz (local.get $argument)) (then (call $fail (i32.const 0))))
 *     (call $write (call $address (local.get $argument)))
 *     (local.set $result (call $call_object (local.get $callable) (local.get $argument)))
 *     (call $release (local.get $argument))
 *     (if (i32.eqz (local.get $result)) (then (call $fail (i32.const 1))))
 *     (call $read (call $address (local.get $result)) (call $size (local.get $result)))
 *     (call $release (local.get $result)))
 *   (func (export "serve") (param $callable i32)
 *     (local $bytes i32)
 *     (loop $requests
 *       (if (i32.ge_s (local.tee $bytes (call $next)) (i32.const 0))
 *         (then
 *           (call $call (local.get $callable) (local.get $bytes))
 *           (br $requests))))))
 * ```
 */
const MODULE =
  "AGFzbQEAAAABGQVgAn9/AX9gAX8Bf2ABfwBgAAF/YAJ/fwACtQEJBnB5dGhvbhlQeUJ5dGVzX0Zyb21TdHJpbmdBbmRTaXplAAAGcHl0" +
  "aG9uEFB5Qnl0ZXNfQXNTdHJpbmcAAQZweXRob24MUHlCeXRlc19TaXplAAEGcHl0aG9uE1B5T2JqZWN0X0NhbGxPbmVBcmcAAAZweXRo" +
  "b24JUHlfRGVjUmVmAAIEaG9zdARuZXh0AAMEaG9zdAV3cml0ZQACBGhvc3QEcmVhZAAEBGhvc3QEZmFpbAACAwMCBAIHEAIEY2FsbAAJ" +
  "BXNlcnZlAAoKXAJAAQJ/QQAgARAAIQIgAkUEQEEAEAgLIAIQARAGIAAgAhADIQMgAhAEIANFBEBBARAICyADEAEgAxACEAcgAxAECxkB" +
  "AX8DQBAFIgFBAE4EQCAAIAEQCQwBCwsL";

/** A request that takes longer may have used much of the stack. Its pages are freed before the next request. */
const LONG_REQUEST_MS = 5;

const FAILURES = ["there is not enough memory for the request", "the Python runner failed"];

/** The exports that `MODULE` imports. */
const IMPORTED: readonly (keyof PythonExports)[] = [
  "PyBytes_FromStringAndSize",
  "PyBytes_AsString",
  "PyBytes_Size",
  "PyObject_CallOneArg",
  "Py_DecRef",
];

/** What a session does with the requests that {@linkcode PythonStack.serve} passes on. */
export interface RequestSource {
  /** Returns the next request, or `undefined` to end. A promise lets other code of the session run first. */
  next(): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Handles the reply to the last request. */
  reply(bytes: Uint8Array): void;
}

/** JavaScript Promise Integration, which TypeScript does not know. */
const { promising, Suspending } = WebAssembly as unknown as {
  promising<Args extends unknown[]>(call: (...args: Args) => unknown): (...args: Args) => Promise<void>;
  Suspending: new (call: () => number | Promise<number>) => WebAssembly.ImportValue;
};

/**
 * The stack that Python runs on. V8 gives it the size of its flags, which may be far larger than that of the thread,
 * and throws a RangeError at its end. JavaScript that Python calls runs on the thread's stack.
 */
export class PythonStack {
  readonly #exports: PythonExports;
  readonly #call: (callable: Pointer, bytes: number) => void;
  readonly #serve: (callable: Pointer) => Promise<void>;
  #request: Uint8Array = new Uint8Array(0);
  #onReply: (bytes: Uint8Array) => void = () => {};
  #next: () => number | Promise<number> = () => -1;

  constructor(exports: PythonExports) {
    this.#exports = exports;
    const module = new WebAssembly.Module(Uint8Array.fromBase64(MODULE));
    const instance = new WebAssembly.Instance(module, {
      python: Object.fromEntries(IMPORTED.map((name) => [name, exports[name]])) as WebAssembly.ModuleImports,
      host: {
        next: new Suspending(() => this.#next()),
        write: (address: Pointer) => this.#heap().set(this.#request, address),
        read: (address: Pointer, bytes: number) =>
          this.#onReply(this.#heap().slice(address, address + bytes)),
        fail(reason: number): never {
          throw new Error(FAILURES[reason]);
        },
      },
    });
    this.#call = instance.exports.call as (callable: Pointer, bytes: number) => void;
    this.#serve = promising(instance.exports.serve as (callable: Pointer) => void);
  }

  /**
   * Calls a Python function with bytes and returns its bytes.
   *
   * @throws {Error} if the function raises, or there is not enough memory for the request.
   */
  call(callable: Pointer, request: Uint8Array): Uint8Array {
    let reply = new Uint8Array(0);
    this.#onReply = (bytes) => reply = bytes as Uint8Array<ArrayBuffer>;
    this.#request = request;
    this.#call(callable, request.length);
    return reply;
  }

  /**
   * Calls a Python function with each request of a source, until there is none.
   *
   * @throws {Error} as {@linkcode PythonStack.call} does.
   */
  async serve(callable: Pointer, source: RequestSource, now: () => number): Promise<void> {
    for (let ended = false; !ended;) {
      let startedAt = Infinity;
      this.#next = () => {
        if (now() - startedAt > LONG_REQUEST_MS) return -1;
        const accept = (request: Uint8Array | undefined) => {
          ended = request === undefined;
          if (!request) return -1;
          this.#request = request;
          this.#onReply = (bytes) => source.reply(bytes);
          startedAt = now();
          return request.length;
        };
        const request = source.next();
        return request instanceof Promise ? request.then(accept) : accept(request);
      };
      await this.#serve(callable);
    }
  }

  #heap(): Uint8Array {
    return new Uint8Array(this.#exports.memory.buffer);
  }
}
