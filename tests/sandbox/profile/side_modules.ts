import { concat } from "@std/bytes";
import createWabt from "wabt";

/** Requirements of a side module, for {@linkcode assembleSideModule}. */
export interface SideModuleOptions {
  /** Size of its data, in bytes. */
  memoryBytes?: number;
  tableSlots?: number;
  /** File names of the libraries that it needs. */
  libraries?: string[];
}

const wabt = await createWabt();
const HEADER_BYTES = 8;
const [CUSTOM_SECTION, MEMORY_INFO, NEEDED] = [0, 1, 2];

/**
 * Assembles a side module from the fields of a module in WebAssembly's text format. The imports that every side module
 * has precede them: `$memory`, `$table`, `$stack`, `$memory_base` and `$table_base`.
 */
export function assembleSideModule(
  imports: string,
  definitions: string,
  { memoryBytes = 0, tableSlots = 0, libraries = [] }: SideModuleOptions = {},
): Uint8Array {
  const wasm = assemble(`(module
    (import "env" "memory" (memory $memory 0))
    (import "env" "__indirect_function_table" (table $table 0 funcref))
    (import "env" "__stack_pointer" (global $stack (mut i32)))
    (import "env" "__memory_base" (global $memory_base i32))
    (import "env" "__table_base" (global $table_base i32))
    ${imports}
    ${definitions})`);
  const info = subsection(MEMORY_INFO, [...number(memoryBytes), 2, ...number(tableSlots), 0]);
  const needed = libraries.length === 0
    ? []
    : subsection(NEEDED, [libraries.length, ...libraries.flatMap(text)]);
  const section = [...text("dylink.0"), ...info, ...needed];
  return concat([
    wasm.subarray(0, HEADER_BYTES),
    new Uint8Array([CUSTOM_SECTION, ...number(section.length), ...section]),
    wasm.subarray(HEADER_BYTES),
  ]);
}

/** Assembles a module from WebAssembly's text format. */
export function assemble(wat: string): Uint8Array {
  const module = wabt.parseWat("test.wat", wat, {
    exceptions: true,
    mutable_globals: true,
    bulk_memory: true,
  });
  try {
    return new Uint8Array(module.toBinary({}).buffer);
  } finally {
    module.destroy();
  }
}

function subsection(kind: number, body: number[]): number[] {
  return [kind, ...number(body.length), ...body];
}

function text(value: string): number[] {
  return [...number(value.length), ...new TextEncoder().encode(value)];
}

function number(value: number): number[] {
  return value < 0x80 ? [value] : [value & 0x7f | 0x80, ...number(value >>> 7)];
}

/**
 * `fast`, an extension module of Python with `answer()`, which returns 42. It needs relocations (its structures have
 * addresses of its data), slots of the table, and a constructor.
 */
export function extensionModule(): Uint8Array {
  // struct PyModuleDef at 0, two of PyMethodDef at 56, the names at 96, the answer at 112
  const [methods, moduleName, methodName, answer] = [56, 96, 104, 112];
  const store = (offset: number, value: string) =>
    `(i32.store (i32.add (global.get $memory_base) (i32.const ${offset})) ${value})`;
  const address = (offset: number) => `(i32.add (global.get $memory_base) (i32.const ${offset}))`;
  return assembleSideModule(
    `(import "env" "PyModule_Create2" (func $create (param i32 i32) (result i32)))
     (import "env" "PyLong_FromLong" (func $new_int (param i32) (result i32)))`,
    `(func $answer (param i32 i32) (result i32)
       (call $new_int (i32.load ${address(answer)})))
     (func (export "PyInit_fast") (result i32)
       (call $create (global.get $memory_base) (i32.const 1013)))
     (func (export "__wasm_apply_data_relocs")
       ${store(20, address(moduleName))}
       ${store(32, address(methods))}
       ${store(methods, address(methodName))}
       ${store(methods + 4, "(global.get $table_base)")})
     (func (export "__wasm_call_ctors")
       ${store(answer, `(i32.mul (i32.load ${address(answer)}) (i32.const 2))`)})
     (elem (global.get $table_base) func $answer)
     (data (global.get $memory_base)
       "\\01\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00"
       "\\00\\00\\00\\00\\00\\00\\00\\00\\ff\\ff\\ff\\ff\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00"
       "\\00\\00\\00\\00\\00\\00\\00\\00\\04\\00\\00\\00\\00\\00\\00\\00"
       "\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00"
       "fast\\00\\00\\00\\00answer\\00\\00\\15\\00\\00\\00")`,
    { memoryBytes: 116, tableSlots: 1 },
  );
}

/** `libbase.so`, with a counter, a function that adds to it, and one that throws a C++ exception. */
export function baseLibrary(): Uint8Array {
  return assembleSideModule(
    `(import "env" "__cpp_exception" (tag $exception (param i32)))`,
    `(global (export "counter") i32 (i32.const 0))
     (func (export "count") (param i32) (result i32)
       (i32.store (global.get $memory_base) (i32.add (i32.load (global.get $memory_base)) (local.get 0)))
       (i32.load (global.get $memory_base)))
     (func (export "throw") (param i32) (throw $exception (local.get 0)))
     (data (global.get $memory_base) "\\0a\\00\\00\\00")`,
    { memoryBytes: 4 },
  );
}

/** `libuser.so`, which uses `libbase.so`, calls itself through an import, and catches a C++ exception. */
export function userLibrary(): Uint8Array {
  return assembleSideModule(
    `(import "env" "__cpp_exception" (tag $exception (param i32)))
     (import "env" "count" (func $count (param i32) (result i32)))
     (import "env" "throw" (func $throw (param i32)))
     (import "env" "factorial" (func $factorial (param i32) (result i32)))
     (import "GOT.mem" "counter" (global $counter (mut i32)))
     (import "GOT.func" "count" (global $count_slot (mut i32)))
     (import "GOT.func" "PyLong_FromLong" (global $long_slot (mut i32)))
     (import "env" "memset" (func $memset (param i32 i32 i32) (result i32)))
     (import "env" "malloc" (func $malloc (param i32) (result i32)))
     (import "env" "exit" (func $exit (param i32)))`,
    `(type $unary (func (param i32) (result i32)))
     (func (export "add") (param i32) (result i32) (call $count (local.get 0)))
     (func (export "read") (result i32) (i32.load (global.get $counter)))
     (func (export "add_by_address") (param i32) (result i32)
       (call_indirect (type $unary) (local.get 0) (global.get $count_slot)))
     (func (export "slot_of_long") (result i32) (global.get $long_slot))
     (func (export "factorial") (param i32) (result i32)
       (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
         (then (i32.const 1))
         (else (i32.mul (local.get 0) (call $factorial (i32.sub (local.get 0) (i32.const 1)))))))
     (func (export "catch") (param i32) (result i32)
       (try (result i32)
         (do (call $throw (local.get 0)) (i32.const -1))
         (catch $exception)))
     (func (export "loop") (loop $again (br $again)))
     (func (export "read_at") (param i32) (result i32) (i32.load (local.get 0)))
     (func (export "grow") (result i32) (local $pages i32)
       (loop $again
         (if (call $malloc (i32.const 65536))
           (then (local.set $pages (i32.add (local.get $pages) (i32.const 1))) (br $again))))
       (local.get $pages))
     (func (export "stop") (call $exit (i32.const 3)))`,
    { libraries: ["libbase.so"] },
  );
}

/** `libstart.so`, which overwrites memory as soon as it has an instance. */
export function startLibrary(): Uint8Array {
  return assembleSideModule(
    "",
    `(func $run (memory.fill (i32.const 1048576) (i32.const 255) (i32.const 4194304)))
     (func (export "nothing"))
     (start $run)`,
  );
}
