import { assertEquals, assertThrows } from "@std/assert";
import { linkLibraries } from "../../../src/sandbox/image/native_libraries.ts";
import { assemble, assembleSideModule, baseLibrary, userLibrary } from "../profile/side_modules.ts";

/** Stands for CPython's module. */
const MAIN = assemble(`(module
  (memory (export "memory") 1)
  (global (export "__stack_pointer") (mut i32) (i32.const 0))
  (tag (export "__cpp_exception") (param i32))
  (func (export "PyLong_FromLong") (param i32) (result i32) (i32.const 0))
  (func (export "malloc") (param i32) (result i32) (i32.const 0))
  (func (export "memset") (param i32 i32 i32) (result i32) (i32.const 0)))`);

Deno.test("linkLibraries() returns what each library needs of the main module", () => {
  const [base, user] = linkLibraries([
    { path: "/p/libbase.so", contents: baseLibrary() },
    { path: "/p/libuser.so", contents: userLibrary() },
  ], MAIN);
  assertEquals(base?.guestPath, "/lib/p/libbase.so");
  assertEquals(base?.link, { memoryBytes: 4, alignment: 4, tableSlots: 0, libraries: [], weak: [] });
  assertEquals(base?.trampolines, undefined);
  assertEquals(user?.link.libraries, ["libbase.so"]);
  assertEquals(user?.mainFunctions, ["PyLong_FromLong", "memset", "malloc"]);
  const trampolines = new WebAssembly.Module(user?.trampolines as Uint8Array<ArrayBuffer>);
  assertEquals(WebAssembly.Module.exports(trampolines), [{ name: "table", kind: "table" }, {
    name: "0",
    kind: "function",
  }]);
});

Deno.test("linkLibraries() names what a library needs and nothing provides", () => {
  const library = (imports: string, definitions = "", libraries: string[] = []) =>
    assembleSideModule(imports, definitions, { libraries });
  const cases: [Uint8Array, string][] = [
    [library(`(import "env" "backtrace" (func))`), "needs the symbol 'backtrace', which neither"],
    [
      library(`(import "GOT.func" "missing" (global (mut i32)))`),
      "needs the symbol 'missing', which neither",
    ],
    [library(`(import "GOT.mem" "absent" (global (mut i32)))`), "needs the symbol 'absent', which neither"],
    [library(`(import "env" "constructor" (func))`), "needs the symbol 'constructor', which neither"],
    [
      library(`(import "wasi_snapshot_preview1" "fd_write" (func))`),
      "needs 'wasi_snapshot_preview1.fd_write', which no library may call",
    ],
    [library(`(import "__proto__" "x" (func))`), "needs '__proto__.x', which no library may call"],
    [
      library("", "", ["libabsent.so"]),
      "needs the library 'libabsent.so', which no package of the profile has",
    ],
    [library("", `(data "passive")`), "must be a side module of WebAssembly: it has passive data segments"],
    [assemble("(module)"), "must be a side module of WebAssembly: it has no section 'dylink.0'"],
    [
      assembleSideModule("", "", { tableSlots: 0x7fffffff }),
      "must be a side module of WebAssembly: its 2147483647 table slots",
    ],
    [new TextEncoder().encode("\u007fELF and more than eight bytes"), "must be a side module of WebAssembly"],
    [
      library("").subarray(0, 30),
      "must be a side module of WebAssembly: Cannot read WebAssembly module as it ends",
    ],
  ];
  for (const [contents, reason] of cases) {
    assertThrows(
      () => linkLibraries([{ path: "/p/core.so", contents }], MAIN),
      TypeError,
      `Cannot link native library 'core.so' as it ${reason}`,
    );
  }
});
