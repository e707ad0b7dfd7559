import type { LinkInfo } from "../guest/python/side_module.ts";
import { join } from "../protocol.ts";
import {
  CODE,
  CUSTOM,
  DATA,
  encodeModule,
  encodeNumber,
  encodeSigned,
  EXPORT,
  FUNCTION,
  IMPORT,
  readExports,
  readImports,
  sectionBody,
  TABLE,
  TYPE,
  WASM_HEADER_BYTES,
  type WasmImport,
  WasmReader,
  type WasmSection,
  wasmSections,
} from "./wasm/wasm.ts";

/** Platform of compiled packages, which PEP 783 defines for CPython 3.14. */
export const PLATFORM = "pyemscripten_2026_0_wasm32";

/** A file of the library that all sessions share. */
export interface LibraryFile {
  /** Path relative to the mount of the library. */
  readonly path: string;
  readonly contents: Uint8Array;
}

/** A native library that can be linked with the interpreter. */
export interface NativeLibrary {
  readonly guestPath: string;
  /** The library's module, without what only debuggers read. */
  readonly wasm: Uint8Array<ArrayBuffer>;
  /**
   * Module of the functions by which the library calls its own exports. Absent if the library imports none of
   * them.
   */
  readonly trampolines?: Uint8Array<ArrayBuffer>;
  readonly link: LinkInfo;
  /** Functions of the main module that the library calls or takes the address of. */
  readonly mainFunctions: readonly string[];
}

/**
 * True if the native code of a wheel is for this platform, by the tags in the wheel's name that CPython 3.14
 * accepts.
 */
export function isNativeWheel(path: string): boolean {
  return /-(?:cp314-(?:cp314|none)|cp3\d+-abi3|py3-none)-pyemscripten_2026_0_wasm32\.whl$/.test(path);
}

/** True if a file of a package is a native library. */
export function isNativeLibrary(path: string): boolean {
  return /\.(?:so(?:\.[\d.]+)?|pyd|dylib)$/.test(path);
}

/** Functions that end the program. The main module does not export them, and a call ends the interpreter. */
const ENDING_CALLS = new Set(["exit", "_exit", "abort", "__assert_fail"]);
/** Imports that the linker itself provides. */
const LINKER_IMPORTS = new Set(["memory", "__indirect_function_table", "__memory_base", "__table_base"]);
const LINKED_MODULES = new Set(["env", "GOT.func", "GOT.mem"]);
/** Limits of a library. CPython's own module has 13,000 functions in the table. */
const [MAX_TABLE_SLOTS, MAX_ALIGNMENT_BITS] = [1 << 20, 16];

/**
 * Checks that the native libraries of a profile can be linked with the main module and with each other.
 *
 * @param main CPython's module with all its exports.
 * @throws {TypeError} if a library needs a symbol or a library that nothing provides; the message has the
 * missing name.
 */
export function linkLibraries(files: readonly LibraryFile[], main: Uint8Array): NativeLibrary[] {
  const mainExports = readExports(sectionBody([...wasmSections(main)], EXPORT)).names;
  const modules = files.map(readModule);
  return modules.map((module) => {
    const needed = module.link.libraries.map((name) => findLibrary(module, modules, name));
    const provided = [mainExports, module.exports, ...needed.map(({ exports }) => exports)];
    for (const symbol of module.imports) requireSymbol(symbol, module, provided);
    const isMainFunction = ({ module: from, kind, name }: WasmImport) =>
      (kind === "function" || from === "GOT.func") && mainExports.has(name);
    const trampolines = parse(module.guestPath, () => trampolineModule(module, mainExports));
    return {
      guestPath: module.guestPath,
      wasm: encodeModule(module.header, module.sections.filter(({ id }) => id !== CUSTOM)),
      link: module.link,
      mainFunctions: module.imports.filter(isMainFunction).map(({ name }) => name),
      ...(trampolines && { trampolines }),
    };
  });
}

/** Magic number and version, in hex. */
const WASM_HEADER = "0061736d01000000";

interface LibraryModule {
  readonly guestPath: string;
  readonly header: Uint8Array;
  readonly sections: readonly WasmSection[];
  readonly link: LinkInfo;
  readonly imports: readonly WasmImport[];
  readonly exports: ReadonlySet<string>;
}

function readModule({ path, contents }: LibraryFile): LibraryModule {
  return parse(path, () => {
    const header = contents.subarray(0, WASM_HEADER_BYTES);
    if (header.toHex() !== WASM_HEADER) throw new SyntaxError("it has another magic number or version");
    const sections = [...wasmSections(contents)];
    requireActiveData(sectionBody(sections, DATA));
    return {
      guestPath: `/lib${path}`,
      header,
      sections,
      link: readLinkInfo(sections),
      imports: readImports(sectionBody(sections, IMPORT)).entries,
      exports: readExports(sectionBody(sections, EXPORT)).names,
    };
  });
}

/** Runs a reader of a library's bytes, and names the library if they are not as expected. */
function parse<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw linkError(path, `must be a side module of WebAssembly: ${cause.message}`);
  }
}

function linkError(path: string, reason: string): TypeError {
  return new TypeError(
    `Cannot link native library '${path.slice(path.lastIndexOf("/") + 1)}' as it ${reason}`,
  );
}

const [MEMORY_INFO, NEEDED, IMPORT_INFO] = [1, 2, 4];
const [BINDING_MASK, WEAK] = [3, 1];

/** Reads the section `dylink.0`, which is the first of a side module. */
function readLinkInfo(sections: readonly WasmSection[]): LinkInfo {
  const reader = new WasmReader(sectionBody(sections.slice(0, 1), CUSTOM));
  if (reader.text() !== "dylink.0") throw new SyntaxError("it has no section 'dylink.0'");
  const libraries: string[] = [];
  const weak: string[] = [];
  let [memoryBytes, alignmentBits, tableSlots] = [0, 0, 0];
  while (!reader.atEnd) {
    const kind = reader.byte();
    const part = new WasmReader(reader.bytes(reader.number()));
    if (kind === MEMORY_INFO) {
      [memoryBytes, alignmentBits, tableSlots] = [part.number(), part.number(), part.number()];
    } else if (kind === NEEDED) {
      for (let left = part.number(); left > 0; left--) libraries.push(part.text());
    } else if (kind === IMPORT_INFO) {
      for (let left = part.number(); left > 0; left--) {
        part.text();
        const name = part.text();
        if ((part.number() & BINDING_MASK) === WEAK) weak.push(name);
      }
    }
  }
  if (tableSlots > MAX_TABLE_SLOTS || alignmentBits > MAX_ALIGNMENT_BITS) {
    throw new SyntaxError(
      `its ${tableSlots} table slots or its alignment of 2^${alignmentBits} are too large`,
    );
  }
  return { memoryBytes, alignment: 2 ** alignmentBits, tableSlots, libraries, weak };
}

/** Refuses data that a module copies by itself: an image has the data, and a restored module none. */
function requireActiveData(body: Uint8Array): void {
  const reader = new WasmReader(body);
  for (let left = reader.number(); left > 0; left--) {
    const mode = reader.number();
    if (mode === 1) throw new SyntaxError("it has passive data segments");
    if (mode === 2) reader.number();
    skipConstant(reader);
    reader.bytes(reader.number());
  }
}

const END = 0x0b;

/** Skips a constant expression of 32-bit numbers and globals. */
function skipConstant(reader: WasmReader): void {
  for (let opcode = reader.byte(); opcode !== END; opcode = reader.byte()) {
    if (opcode === 0x41 || opcode === 0x23) reader.skipNumbers(1);
    else if (opcode !== 0x6a) {
      throw new SyntaxError(`it has a constant with the instruction 0x${opcode.toString(16)}`);
    }
  }
}

function findLibrary(user: LibraryModule, modules: readonly LibraryModule[], name: string): LibraryModule {
  const found = modules.find(({ guestPath }) => guestPath.endsWith(`/${name}`));
  if (found) return found;
  throw linkError(user.guestPath, `needs the library '${name}', which no package of the profile has`);
}

function requireSymbol(
  { module: from, name }: WasmImport,
  { guestPath, link }: LibraryModule,
  provided: readonly ReadonlySet<string>[],
): void {
  if (!LINKED_MODULES.has(from)) {
    throw linkError(guestPath, `needs '${from}.${name}', which no library may call`);
  }
  if (LINKER_IMPORTS.has(name) || ENDING_CALLS.has(name) || link.weak.includes(name)) return;
  if (provided.some((names) => names.has(name))) return;
  throw linkError(guestPath, `needs the symbol '${name}', which neither CPython nor its libraries provide`);
}

const [FUNCTION_TYPE, FUNCTION_REFERENCE] = [0x60, 0x70];
const [LOCAL_GET, CONST, RETURN_CALL_INDIRECT] = [0x20, 0x41, 0x13];

/**
 * Returns a module with one function for each own export that a library imports. The function calls a slot of
 * its table, in which the export is put when the library has an instance. So the library calls itself without
 * JavaScript, which no thread could leave. The functions are named by their index, in the order of the
 * imports.
 */
function trampolineModule(
  { header, sections, imports, exports }: LibraryModule,
  mainExports: ReadonlySet<string>,
): Uint8Array<ArrayBuffer> | undefined {
  const calls = imports.filter(({ kind, name }) =>
    kind === "function" && !mainExports.has(name) && exports.has(name)
  );
  if (calls.length === 0) return undefined;
  const typeSection = sectionBody(sections, TYPE);
  const parameters = readParameterCounts(typeSection);
  const codes = calls.map(({ type }, index) => {
    const count = parameters[type];
    if (count === undefined) throw new SyntaxError(`its function type ${type} does not exist`);
    const values = Array.from({ length: count }, (_, local) => [LOCAL_GET, ...encodeNumber(local)]).flat();
    const call = [CONST, ...encodeSigned(index), RETURN_CALL_INDIRECT, ...encodeNumber(type), 0, END];
    return withLength(new Uint8Array([0, ...values, ...call]));
  });
  const names = calls.map((_, index) =>
    join([withLength(new TextEncoder().encode(String(index))), new Uint8Array([0]), encodeNumber(index)])
  );
  const table = join([withLength(new TextEncoder().encode("table")), new Uint8Array([1, 0])]);
  return encodeModule(header, [
    { id: TYPE, body: typeSection },
    { id: FUNCTION, body: vector(calls.map(({ type }) => encodeNumber(type))) },
    { id: TABLE, body: join([new Uint8Array([1, FUNCTION_REFERENCE, 0]), encodeNumber(calls.length)]) },
    { id: EXPORT, body: vector([table, ...names]) },
    { id: CODE, body: vector(codes) },
  ]);
}

/** Returns the number of parameters of each function type. */
function readParameterCounts(body: Uint8Array): number[] {
  const reader = new WasmReader(body);
  return Array.from({ length: reader.number() }, () => {
    if (reader.byte() !== FUNCTION_TYPE) throw new SyntaxError("it has a type that is no function");
    const count = reader.number();
    reader.skipNumbers(count);
    reader.skipNumbers(reader.number());
    return count;
  });
}

function vector(items: readonly Uint8Array[]): Uint8Array {
  return join([encodeNumber(items.length), ...items]);
}

function withLength(bytes: Uint8Array): Uint8Array {
  return join([encodeNumber(bytes.length), bytes]);
}
