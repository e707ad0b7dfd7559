import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { readPyodide } from "../../../src/sandbox/image/pyodide.ts";
import {
  CODE,
  EXPORT,
  GLOBAL,
  IMPORT,
  readExports,
  readImports,
  TABLE,
  TYPE,
  WasmReader,
  wasmSections,
} from "../../../src/sandbox/image/wasm/wasm.ts";
import { isUsedImport } from "../../../src/sandbox/guest/call_guard.ts";

const { wasm } = await readPyodide();
const sections = new Map([...wasmSections(wasm)].map(({ id, body }) => [id, body]));
const bodyOf = (id: number) => sections.get(id) ?? new Uint8Array([0]);
const imports = readImports(bodyOf(IMPORT));
const exports = readExports(bodyOf(EXPORT));

const [I32, FUNCTION_REFERENCE, EXTERNAL_REFERENCE] = [0x7f, 0x70, 0x6f];
const [GLOBAL_GET, I32_CONST, GLOBAL_SET, TABLE_SET, PREFIX, END] = [0x23, 0x41, 0x24, 0x26, 0xfc, 0x0b];
const TABLE_GROW = 15;

/** Returns the indexes of the module's own globals that can change. All are numbers of 32 bits. */
function mutableGlobals(): number[] {
  const reader = new WasmReader(bodyOf(GLOBAL));
  const found: number[] = [];
  const end = imports.globals + reader.number();
  for (let index = imports.globals; index < end; index++) {
    const [type, isMutable] = [reader.byte(), reader.byte()];
    const operation = reader.byte();
    assert(type === I32 && [I32_CONST, GLOBAL_GET].includes(operation), `global ${index} is a number`);
    reader.skipNumbers(1);
    assertEquals(reader.byte(), END);
    if (isMutable) found.push(index);
  }
  return found;
}

/** Returns the names of the exported functions whose bodies have these bytes. Others are named by their index. */
function functionsWith(bytes: readonly number[]): string[] {
  const names = new Map([...exports.functions].map(([name, index]) => [index, name]));
  const reader = new WasmReader(bodyOf(CODE));
  const pattern = Buffer.from(bytes);
  const found: string[] = [];
  const end = imports.functions.length + reader.number();
  for (let index = imports.functions.length; index < end; index++) {
    if (Buffer.from(reader.bytes(reader.number())).includes(pattern)) {
      found.push(names.get(index) ?? `${index}`);
    }
  }
  return found;
}

function leb(value: number): number[] {
  return value < 0x80 ? [value] : [value & 0x7f | 0x80, ...leb(value >>> 7)];
}

// What is not in the heap is in no image and no checkpoint: `guest/python/module_state.ts` resets it. A new version of
// Pyodide that fails here has state which that file does not know yet.
Deno.test("the mutable globals of CPython's module are the stack pointer, its bounds and half of a result", () => {
  const [pointer, end, base, half, ...others] = mutableGlobals();
  assertEquals(others, []);
  assertEquals(exports.globals.get("__stack_pointer"), pointer);
  const settersOf = (global = 0) => functionsWith([GLOBAL_SET, ...leb(global)]);
  for (const bound of [end, base]) {
    assertEquals(settersOf(bound), ["emscripten_stack_init", "emscripten_stack_set_limits"]);
  }
  assertEquals(settersOf(half), ["setTempRet0"]);
  assertEquals(imports.entries.filter(({ kind, module }) => kind === "global" && module !== "GOT.func"), []);
});

Deno.test("the tables of CPython's module are that of functions and two of references, which four functions change", () => {
  const reader = new WasmReader(bodyOf(TABLE));
  const types: number[] = [];
  for (let left = reader.number(); left > 0; left--) {
    types.push(reader.byte());
    reader.skipNumbers(reader.number() & 1 ? 2 : 1);
  }
  assertEquals(types, [FUNCTION_REFERENCE, EXTERNAL_REFERENCE, EXTERNAL_REFERENCE]);
  assertEquals(imports.entries.filter(({ kind }) => kind === "table"), []);
  const ofReferences = [1, 2].flatMap((table) => [
    ...functionsWith([TABLE_SET, table, END]),
    ...functionsWith([PREFIX, TABLE_GROW, table]),
  ]);
  const known = [
    "_hiwire_delete",
    "_hiwire_immortal_add",
    "_hiwire_immortal_table_init",
    "_hiwire_set",
  ];
  assertEquals([...new Set(ofReferences)].toSorted(), known);
  assertEquals(functionsWith([PREFIX, TABLE_GROW, 0]), [], "only JavaScript adds functions");
});

Deno.test("an interpreter gets no reference to a JavaScript value but what it waits for in poll() and for sockets", () => {
  const reader = new WasmReader(bodyOf(TYPE));
  const typesWithReference = new Set<number>();
  const count = reader.number();
  for (let index = 0; index < count; index++) {
    const form = reader.byte();
    assertEquals(form, 0x60, `type ${index} is that of a function`);
    for (const values of [reader.bytes(reader.number()), reader.bytes(reader.number())]) {
      if (values.includes(EXTERNAL_REFERENCE)) typesWithReference.add(index);
    }
  }
  assert(typesWithReference.size > 0);
  const callable = imports.entries.filter(({ module, name, kind, type }) =>
    kind === "function" && typesWithReference.has(type) && isUsedImport({ module, name, kind })
  );
  const waits = ["_maybe_connect_async", "_maybe_poll_async", "_maybe_recvfrom_async", "_maybe_sendto_async"];
  assertEquals(callable.map(({ name }) => name).toSorted(), waits);
});
