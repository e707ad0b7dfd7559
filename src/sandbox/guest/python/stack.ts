import type { Pointer, PythonExports } from "../emscripten.ts";
import type { PythonThreads, SuspendingConstructor } from "./threads.ts";

/**
 * A Wasm module that passes requests to a Python function and replies to the guest. `serve` does so until `next`
 * returns a negative number. JavaScript enters Wasm once for all requests, since each entry takes a new stack, which
 * may be large. `thread` runs a Python thread.
 *
 * ```wat
 * (module
 *   (import "python" "PyBytes_FromStringAndSize" (func $new_bytes (param i32 i32) (result i32)))
 *   (import "python" "PyBytes_AsString" (func $address (param i32) (result i32)))
 *   (import "python" "PyBytes_Size" (func $size (param i32) (result i32)))
 *   (import "python" "PyObject_CallOneArg" (func $call_object (param i32 i32) (result i32)))
 *   (import "python" "Py_DecRef" (func $release (param i32)))
 *   (import "python" "PyLong_FromLong" (func $new_number (param i32) (result i32)))
 *   (import "python" "PyLong_AsLong" (func $number_of (param i32) (result i32)))
 *   (import "python" "PyInterpreterState_Main" (func $interpreter (result i32)))
 *   (import "python" "PyThreadState_New" (func $new_state (param i32) (result i32)))
 *   (import "python" "PyThreadState_Clear" (func $clear_state (param i32)))
 *   (import "python" "PyThreadState_DeleteCurrent" (func $delete_state))
 *   (import "python" "PyEval_AcquireThread" (func $acquire (param i32)))
 *   (import "python" "PyUnstable_ThreadState_SetStackProtection" (func $protect (param i32 i32 i32) (result i32)))
 *   (import "python" "__stack_pointer" (global $stack_pointer (mut i32)))
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
 *           (br $requests)))))
 *   (func (export "thread") (param $callable i32) (param $number i32) (param $stack i32) (param $bytes i32) (result i32)
 *     (local $state i32) (local $argument i32) (local $result i32) (local $next_thread i32)
 *     (local.set $state (call $new_state (call $interpreter)))
 *     (if (i32.eqz (local.get $state)) (then (call $fail (i32.const 2))))
 *     (drop (call $protect (local.get $state) (local.get $stack) (local.get $bytes)))
 *     (global.set $stack_pointer (i32.add (local.get $stack) (local.get $bytes)))
 *     (call $acquire (local.get $state))
 *     (local.set $argument (call $new_number (local.get $number)))
 *     (if (i32.eqz (local.get $argument)) (then (call $fail (i32.const 2))))
 *     (local.set $result (call $call_object (local.get $callable) (local.get $argument)))
 *     (call $release (local.get $argument))
 *     (if (i32.eqz (local.get $result)) (then (call $fail (i32.const 3))))
 *     (local.set $next_thread (call $number_of (local.get $result)))
 *     (call $release (local.get $result))
 *     (call $clear_state (local.get $state))
 *     (call $delete_state)
 *     (local.get $next_thread)))
 * ```
 */
const MODULE =
  "AGFzbQEAAAABKwhgAn9/AX9gAX8Bf2ABfwBgAAF/YAAAYAN/f38Bf2ACf38AYAR/f39/AX8CzgMSBnB5dGhvbhlQeUJ5dGVzX0Zyb21T" +
  "dHJpbmdBbmRTaXplAAAGcHl0aG9uEFB5Qnl0ZXNfQXNTdHJpbmcAAQZweXRob24MUHlCeXRlc19TaXplAAEGcHl0aG9uE1B5T2JqZWN0" +
  "X0NhbGxPbmVBcmcAAAZweXRob24JUHlfRGVjUmVmAAIGcHl0aG9uD1B5TG9uZ19Gcm9tTG9uZwABBnB5dGhvbg1QeUxvbmdfQXNMb25n" +
  "AAEGcHl0aG9uF1B5SW50ZXJwcmV0ZXJTdGF0ZV9NYWluAAMGcHl0aG9uEVB5VGhyZWFkU3RhdGVfTmV3AAEGcHl0aG9uE1B5VGhyZWFk" +
  "U3RhdGVfQ2xlYXIAAgZweXRob24bUHlUaHJlYWRTdGF0ZV9EZWxldGVDdXJyZW50AAQGcHl0aG9uFFB5RXZhbF9BY3F1aXJlVGhyZWFk" +
  "AAIGcHl0aG9uKVB5VW5zdGFibGVfVGhyZWFkU3RhdGVfU2V0U3RhY2tQcm90ZWN0aW9uAAUGcHl0aG9uD19fc3RhY2tfcG9pbnRlcgN/" +
  "AQRob3N0BG5leHQAAwRob3N0BXdyaXRlAAIEaG9zdARyZWFkAAYEaG9zdARmYWlsAAIDBAMGAgcHGQMEY2FsbAARBXNlcnZlABIGdGhy" +
  "ZWFkABMKvQEDQAECf0EAIAEQACECIAJFBEBBABAQCyACEAEQDiAAIAIQAyEDIAIQBCADRQRAQQEQEAsgAxABIAMQAhAPIAMQBAsZAQF/" +
  "A0AQDSIBQQBOBEAgACABEBEMAQsLC2ABBH8QBxAIIQQgBEUEQEECEBALIAQgAiADEAwaIAIgA2okACAEEAsgARAFIQUgBUUEQEECEBAL" +
  "IAAgBRADIQYgBRAEIAZFBEBBAxAQCyAGEAYhByAGEAQgBBAJEAogBws=";

/** A request that takes longer may have used much of the stack. Its pages are freed before the next request. */
const LONG_REQUEST_MS = 5;

const FAILURES = [
  "there is not enough memory for the request",
  "the Python runner failed",
  "there is not enough memory for a thread",
  "the Python scheduler failed",
];

/** The exports that `MODULE` imports. */
const IMPORTED: readonly (keyof PythonExports)[] = [
  "PyBytes_FromStringAndSize",
  "PyBytes_AsString",
  "PyBytes_Size",
  "PyObject_CallOneArg",
  "Py_DecRef",
  "PyLong_FromLong",
  "PyLong_AsLong",
  "PyInterpreterState_Main",
  "PyThreadState_New",
  "PyThreadState_Clear",
  "PyThreadState_DeleteCurrent",
  "PyEval_AcquireThread",
  "PyUnstable_ThreadState_SetStackProtection",
  "__stack_pointer",
];

/**
 * Offset of a thread state's `thread_id`, and the distance of two identifiers. The scheduler computes the same ones.
 */
const THREAD_ID_OFFSET = 92;
const IDENT_STEP = 4096;

/** Handlers of the requests that {@linkcode PythonStack.serve} passes on. */
export interface RequestSource {
  /** Returns the next request, or `undefined` to end. A promise lets other code of the session run first. */
  next(): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Handles the reply to the last request. */
  reply(bytes: Uint8Array): void;
}

/** JavaScript Promise Integration, which TypeScript does not know. */
const { promising, Suspending: SuspendingImport } = WebAssembly as unknown as {
  promising<Args extends unknown[], T>(call: (...args: Args) => T): (...args: Args) => Promise<T>;
  Suspending: SuspendingConstructor;
};

/** Makes an import that may leave the stack of its caller: it does so if it returns a promise. */
export const Suspending: SuspendingConstructor = SuspendingImport;

/**
 * The stack that Python runs on. V8 gives it the size of its flags, which may be far larger than the size of the
 * thread, and throws a RangeError at its end. JavaScript that Python calls runs on the thread's stack.
 */
export class PythonStack {
  readonly #exports: PythonExports;
  readonly #threads: PythonThreads;
  readonly #call: (callable: Pointer, bytes: number) => void;
  readonly #callAsync: (callable: Pointer, bytes: number) => Promise<void>;
  readonly #serve: (callable: Pointer) => Promise<void>;
  #request: Uint8Array = new Uint8Array(0);
  #startedThread = 0;
  #onReply: (bytes: Uint8Array) => void = () => {};
  #next: () => number | Promise<number> = () => -1;

  /** @param callable The function that also runs threads: it is called with the number of each. */
  constructor(exports: PythonExports, threads: PythonThreads, callable: Pointer) {
    this.#exports = exports;
    this.#threads = threads;
    const module = new WebAssembly.Module(Uint8Array.fromBase64(MODULE));
    const instance = new WebAssembly.Instance(module, {
      python: {
        ...Object.fromEntries(IMPORTED.map((name) => [name, exports[name]])) as WebAssembly.ModuleImports,
        PyEval_AcquireThread: (state: Pointer) => this.#acquire(state),
      },
      host: {
        next: new SuspendingImport(() => this.#next()),
        write: (address: Pointer) => this.#heap().set(this.#request, address),
        read: (address: Pointer, bytes: number) =>
          this.#onReply(this.#heap().slice(address, address + bytes)),
        fail(reason: number): never {
          throw new Error(FAILURES[reason]);
        },
      },
    });
    this.#call = instance.exports.call as (callable: Pointer, bytes: number) => void;
    this.#callAsync = promising(this.#call);
    this.#serve = promising(instance.exports.serve as (callable: Pointer) => void);
    const runThread = promising(
      instance.exports.thread as (callable: Pointer, number: number, stack: Pointer, bytes: number) => number,
    );
    threads.onStart((number, { address, bytes }) => {
      this.#startedThread = number;
      return runThread(callable, number, address, bytes);
    });
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
    this.#threads.runUnswitched(() => this.#call(callable, request.length));
    return reply;
  }

  /**
   * Calls a Python function like {@linkcode PythonStack.call}, and lets it switch between threads.
   *
   * @throws {Error} as {@linkcode PythonStack.call} does, or if a thread fails.
   */
  async callWithThreads(callable: Pointer, request: Uint8Array): Promise<Uint8Array> {
    let reply = new Uint8Array(0);
    this.#onReply = (bytes) => reply = bytes as Uint8Array<ArrayBuffer>;
    this.#request = request;
    await this.#threads.runMain(() => this.#callAsync(callable, request.length));
    return reply;
  }

  /**
   * Calls a Python function with each request of a source, until there is none.
   *
   * @throws {Error} as {@linkcode PythonStack.callWithThreads} does.
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
      await this.#threads.runMain(() => this.#serve(callable));
    }
  }

  #heap(): Uint8Array {
    return new Uint8Array(this.#exports.memory.buffer);
  }

  /** Makes a new thread state the state of the running thread. C Python would give all of them the same identifier. */
  #acquire(state: Pointer): void {
    const words = new Uint32Array(this.#exports.memory.buffer);
    words[((state >>> 0) + THREAD_ID_OFFSET) / 4] = IDENT_STEP * (this.#startedThread + 1);
    this.#exports.PyEval_AcquireThread(state);
  }
}
