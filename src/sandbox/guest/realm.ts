/**
 * Empties the worker's realm. Imported before anything else: what is not on the list below is gone when
 * Pyodide loads, so Python that breaks out of its interpreter meets JavaScript with nothing to call.
 */

const KEPT = new Set<PropertyKey>([
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

/** Deno hands the first message over through this global and some symbols; they go when it is there. */
const EVENT_DOOR = "dispatchEvent";

/** What the worker itself needs of its old realm, taken before the realm was emptied. */
export interface Kept {
  /** The first message, which carries everything a session needs. */
  readonly message: Promise<unknown>;
  readonly now: () => number;
  readonly randomFill: (view: Uint8Array) => void;
  /** Calls `work` when nothing else is to be done; gives what calls it off. */
  readonly whenIdle: (work: () => void) => () => void;
  readonly digest: (name: string, bytes: Uint8Array<ArrayBuffer>) => Promise<ArrayBuffer>;
}

/** Takes what is needed, then deletes every other global. */
function emptyRealm(): Kept {
  const scope = globalThis as unknown as WorkerScope;
  const clock = scope.performance;
  const source = scope.crypto;
  const { subtle } = source;
  const { setTimeout, clearTimeout } = scope;
  const message = new Promise<unknown>((resolve) => {
    scope.addEventListener("message", (event) => resolve(event.data), { once: true });
  });
  deleteGlobals((key) => KEPT.has(key) || key === EVENT_DOOR || typeof key === "symbol");
  removeCodeGen();
  return {
    message: message.finally(() => deleteGlobals((key) => KEPT.has(key))),
    now: () => clock.now(),
    randomFill: (view) => void source.getRandomValues(view as Uint8Array<ArrayBuffer>),
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
  setTimeout: (work: () => void, ms: number) => number;
  clearTimeout: (timer: number) => void;
  addEventListener(type: "message", listener: (event: MessageEvent) => void, options: { once: true }): void;
}

function deleteGlobals(keeps: (key: PropertyKey) => boolean): void {
  const chain: object[] = [];
  for (let at: object | null = globalThis; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    chain.push(at);
  }
  for (const holder of chain) {
    for (const key of Reflect.ownKeys(holder)) {
      if (!keeps(key) && !Reflect.deleteProperty(holder, key)) Reflect.set(holder, key, undefined);
    }
  }
}

/**
 * Puts what only throws in the place of the constructors that make a function of a text. With `eval` deleted nothing
 * else does, so that this realm compiles no text, and so imports nothing, also where no flag of V8 forbids it.
 */
function removeCodeGen(): void {
  function Refused(): never {
    throw new EvalError("no code is made of texts here");
  }
  Refused.prototype = Function.prototype;
  Reflect.defineProperty(Refused, "name", { value: "Function" });
  for (const made of [() => {}, async () => {}, function* () {}, async function* () {}]) {
    Reflect.defineProperty(Reflect.getPrototypeOf(made) as object, "constructor", { value: Refused });
  }
  Reflect.set(globalThis, "Function", Refused);
}

/**
 * Takes away what makes Wasm of bytes, when all that a session needs is made: a library that Python brings along
 * would be bound by nothing that the interpreter's own module is bound by.
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

/** Defines globals that Pyodide reads, each without a way back to the host. */
export function defineGlobals(globals: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
}

/** The only things of the old realm that are left. */
export const kept: Kept = emptyRealm();
