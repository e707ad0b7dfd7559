import { assertEquals, assertThrows } from "@std/assert";
import { errorTexts, LINUX_ERRORS, raiseLinuxErrors } from "../../../src/sandbox/image/wasm/linux_errors.ts";
import { readPyodide } from "../../../src/sandbox/image/pyodide.ts";

Deno.test("LINUX_ERRORS has each name once, and one number of Linux for each of Emscripten", () => {
  const names = new Set(LINUX_ERRORS.map(([name]) => name));
  assertEquals(names.size, LINUX_ERRORS.length);
  const numbers = new Map<number, number>();
  for (const [name, emscripten, linux] of LINUX_ERRORS) {
    assertEquals(numbers.get(emscripten) ?? linux, linux, name);
    numbers.set(emscripten, linux);
  }
  assertEquals(numbers.size, new Set(numbers.values()).size);
});

Deno.test("errorTexts() has the texts of C by the numbers of Linux", async () => {
  const { wasm } = await readPyodide();
  const bytes = Uint8Array.fromBase64(errorTexts(wasm).base64);
  const view = new DataView(bytes.buffer);
  const tableBytes = 308;
  const textAt = (number: number) => {
    const at = tableBytes + view.getUint16(2 * number, true);
    return new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
  };
  assertEquals([2, 4, 17, 34, 95, 131].map(textAt), [
    "No such file or directory",
    "Interrupted system call",
    "File exists",
    "Numerical result out of range",
    "Operation not supported",
    "State not recoverable",
  ]);
});

Deno.test("raiseLinuxErrors() returns a valid module, and refuses one without the functions of CPython", async () => {
  const { wasm } = await readPyodide();
  const changed = raiseLinuxErrors(wasm);
  assertEquals(WebAssembly.validate(changed), true);
  assertThrows(() => raiseLinuxErrors(changed), SyntaxError, "is not as expected");
  assertThrows(
    () => raiseLinuxErrors(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])),
    SyntaxError,
    "must export",
  );
});
