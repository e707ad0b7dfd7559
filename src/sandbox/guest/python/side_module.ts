import type { Pointer } from "../emscripten.ts";

/** A side module: a native library of a package, compiled to WebAssembly. */
export interface SideModule {
  /** Path by which Python opens it. The file at this path is empty. */
  readonly path: string;
  /** Compiled if it is loaded in the image. Otherwise its bytes, which the first session that needs them compiles. */
  readonly code: WebAssembly.Module | Uint8Array;
  /** Module of the functions by which the library calls its own exports. */
  readonly trampolines?: WebAssembly.Module | Uint8Array;
  readonly link: LinkInfo;
}

/** Native libraries that Python can load. */
export interface NativeCode {
  readonly libraries: readonly SideModule[];
}

/** Requirements of a side module: its section `dylink.0`. */
export interface LinkInfo {
  readonly memoryBytes: number;
  /** Alignment of its memory, in bytes. */
  readonly alignment: number;
  /** Number of slots in the function table. */
  readonly tableSlots: number;
  /** File names of the libraries that it needs. */
  readonly libraries: readonly string[];
  /** Symbols that may be undefined. */
  readonly weak: readonly string[];
}

/** Exports of an instance. */
export type ModuleExports = Record<string, WebAssembly.ExportValue>;

/** An import that has the address of a symbol. */
export interface AddressImport {
  readonly kind: "function" | "data";
  readonly name: string;
  readonly global: WebAssembly.Global;
}

/** An instance of a side module, and its imported addresses, which are still 0. */
export interface LinkedInstance {
  readonly exports: ModuleExports;
  readonly addresses: readonly AddressImport[];
}

/** Imports of an instance of a side module. */
export interface LinkTargets {
  readonly memoryBase: Pointer;
  readonly tableBase: number;
  /** Exports of the main module. */
  readonly main: ModuleExports;
  /** Exports of the libraries that it needs. */
  readonly needed: readonly ModuleExports[];
  readonly trampolines?: WebAssembly.Module;
}

const [MEMORY_BASE, TABLE_BASE] = ["__memory_base", "__table_base"];

/** Returns what an import from a module is the address of, or `undefined` if it is no address. */
export function addressKind(module: string): AddressImport["kind"] | undefined {
  if (module === "GOT.func") return "function";
  return module === "GOT.mem" ? "data" : undefined;
}

/**
 * Creates an instance of a side module. Its imports are exports of the main module, then of the libraries that it
 * needs, then its own, which it calls through a trampoline. A function that none of them has ends the interpreter
 * when it is called.
 */
export function instantiateSideModule(module: WebAssembly.Module, targets: LinkTargets): LinkedInstance {
  const { main, needed, trampolines } = targets;
  const own = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  const calls = trampolines && new WebAssembly.Instance(trampolines).exports as ModuleExports;
  const ownCalls: string[] = [];
  const addresses: AddressImport[] = [];
  const resolve = ({ module: from, name, kind }: WebAssembly.ModuleImportDescriptor) => {
    const address = addressKind(from);
    if (address) {
      const global = new WebAssembly.Global({ value: "i32", mutable: true }, 0);
      addresses.push({ kind: address, name, global });
      return global;
    }
    if (name === MEMORY_BASE) return new WebAssembly.Global({ value: "i32" }, targets.memoryBase);
    if (name === TABLE_BASE) return new WebAssembly.Global({ value: "i32" }, targets.tableBase);
    if (main[name] !== undefined) return main[name];
    const isOwnCall = kind === "function" && own.has(name);
    if (isOwnCall) ownCalls.push(name);
    const found = needed.find((exports) => exports[name] !== undefined)?.[name];
    if (found !== undefined) return found;
    return isOwnCall ? calls?.[String(ownCalls.length - 1)] : () => rejectCall(name);
  };
  const imports: Record<string, Record<string, unknown>> = Object.create(null);
  for (const descriptor of WebAssembly.Module.imports(module)) {
    const group = imports[descriptor.module] ??= Object.create(null) as Record<string, unknown>;
    group[descriptor.name] ??= resolve(descriptor);
  }
  const exports = new WebAssembly.Instance(module, imports as WebAssembly.Imports).exports as ModuleExports;
  const table = calls?.table as WebAssembly.Table | undefined;
  ownCalls.forEach((name, index) => table?.set(index, exports[name] as () => void));
  return { exports, addresses };
}

/** Ends the interpreter. */
function rejectCall(name: string): never {
  throw new Error(`a native library called '${name}', which no program can call here`);
}
