import { assertEquals, assertThrows } from "@std/assert";
import { readPyodide } from "../../../src/sandbox/image/pyodide.ts";
import { widenSizes } from "../../../src/sandbox/image/sizes/sizes.ts";

Deno.test("widenSizes() returns a valid module, and refuses one without the functions of CPython", async () => {
  const { wasm } = await readPyodide();
  assertEquals(WebAssembly.validate(widenSizes(wasm)), true);
  const empty = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  assertThrows(() => widenSizes(empty), SyntaxError, "must export 'PyLong_AsSsize_t'");
});
