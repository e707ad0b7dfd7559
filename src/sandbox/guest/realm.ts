/**
 * Removes all globals of the worker's realm that are not on the list below. This module is imported first, so they
 * are removed before Pyodide loads. Code that escapes the interpreter finds no `Deno` and no other API to call.
 */

const ALLOWED_GLOBALS = new Set<PropertyKey>([
  "globalThis",
  "Infinity",
  "NaN",
  "undefined",
  "Object",
  "Function",
  "Array",
  "Number",
  "parseFloat",
  "parseInt",
  "Boolean",
  "String",
  "Symbol",
  "Date",
  "Promise",
  "RegExp",
  "Math",
  "JSON",
  "Map",
  "Set",
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "BigInt",
  "Error",
  "AggregateError",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
  "ArrayBuffer",
  "SharedArrayBuffer",
  "DataView",
  "Atomics",
  "Proxy",
  "Reflect",
  "Iterator",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
  "isNaN",
  "isFinite",
  "decodeURI",
  "decodeURIComponent",
  "encodeURI",
  "encodeURIComponent",
  "TextEncoder",
  "TextDecoder",
  "WebAssembly",
]);

/** Deno delivers the first message through this global and some symbols. They are deleted once it has arrived. */
const MESSAGE_GLOBAL = "dispatchEvent";

/** Functions of the original realm that the worker needs, saved before the globals were deleted. */
export interface SavedGlobals {
  /** The first message, with everything that a session needs. */
  readonly message: Promise<unknown>;
  readonly now: () => number;
  /** The time since 1970 at which `now` was 0, in milliseconds. */
  readonly timeOrigin: number;
  readonly date: () => number;
  readonly randomFill: (view: Uint8Array) => void;
  /** Returns a function that writes all bytes to the stdout of the process, once. Later calls return nothing. */
  readonly takeHostWriter: () => ((bytes: Uint8Array) => void) | undefined;
  /** Calls `work` when this thread is idle. Returns a function that cancels the call. */
  readonly whenIdle: (work: () => void) => () => void;
  readonly digest: (name: string, bytes: Uint8Array<ArrayBuffer>) => Promise<ArrayBuffer>;
}

/** Saves the functions that the worker needs, then deletes every other global. */
function emptyRealm(): SavedGlobals {
  const scope = globalThis as unknown as WorkerScope;
  const clock = scope.performance;
  const source = scope.crypto;
  const { subtle } = source;
  const { setTimeout, clearTimeout } = scope;
  let stdout = scope.Deno?.stdout;
  const message = new Promise<unknown>((resolve) => {
    scope.addEventListener("message", (event) => resolve(event.data), { once: true });
  });
  deleteGlobals((key) => ALLOWED_GLOBALS.has(key) || key === MESSAGE_GLOBAL || typeof key === "symbol");
  removeCodeGen();
  return {
    message: message.finally(() => deleteGlobals((key) => ALLOWED_GLOBALS.has(key))),
    now: () => clock.now(),
    timeOrigin: clock.timeOrigin,
    date: Date.now,
    randomFill: (view) => void source.getRandomValues(view as Uint8Array<ArrayBuffer>),
    takeHostWriter() {
      const output = stdout;
      stdout = undefined;
      return output && ((bytes) => {
        for (let done = 0; done < bytes.length;) done += output.writeSync(bytes.subarray(done));
      });
    },
    whenIdle(work) {
      const timer = setTimeout(work, 0);
      return () => clearTimeout(timer);
    },
    digest: (name, bytes) => subtle.digest(name, bytes),
  };
}

interface WorkerScope {
  performance: Performance;
  crypto: Crypto;
  Deno?: { stdout: { writeSync(bytes: Uint8Array): number } };
  setTimeout: (work: () => void, ms: number) => number;
  clearTimeout: (timer: number) => void;
  addEventListener(type: "message", listener: (event: MessageEvent) => void, options: { once: true }): void;
}

function deleteGlobals(isAllowed: (key: PropertyKey) => boolean): void {
  const chain: object[] = [];
  for (let at: object | null = globalThis; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    chain.push(at);
  }
  for (const holder of chain) {
    for (const key of Reflect.ownKeys(holder)) {
      if (!isAllowed(key) && !Reflect.deleteProperty(holder, key)) Reflect.set(holder, key, undefined);
    }
  }
}

/**
 * Replaces the constructors that compile source text to functions. With `eval` deleted, nothing else in this realm
 * compiles text, and so nothing imports a module, even if no V8 flag forbids it.
 */
function removeCodeGen(): void {
  function Refused(): never {
    throw new EvalError("code generation from strings is disabled");
  }
  Refused.prototype = Function.prototype;
  Reflect.defineProperty(Refused, "name", { value: "Function" });
  for (const sample of [() => {}, async () => {}, function* () {}, async function* () {}]) {
    Reflect.defineProperty(Reflect.getPrototypeOf(sample) as object, "constructor", { value: Refused });
  }
  Reflect.set(globalThis, "Function", Refused);
}

/**
 * Removes everything that compiles or instantiates Wasm, after the session's own module was instantiated. A library
 * that Python loads would not have the limits of the interpreter's module.
 */
export function removeWasmConstructors(): void {
  const { Module, Instance, Memory, Table } = WebAssembly;
  for (const { prototype } of [Module, Instance, Memory, Table]) {
    Reflect.deleteProperty(prototype, "constructor");
  }
  for (
    const name of ["Module", "Instance", "Memory", "Table", "compile", "instantiate", "compileStreaming"]
  ) {
    Reflect.deleteProperty(WebAssembly, name);
  }
  Reflect.deleteProperty(WebAssembly, "instantiateStreaming");
}

/** Defines globals that Pyodide reads. None of them may give access to the host. */
export function defineGlobals(globals: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
}

/** The saved functions, all that remains of the original realm. */
export const savedGlobals: SavedGlobals = emptyRealm();
