import { assertEquals } from "@std/assert";
import { largestFunction } from "../../../src/sandbox/image/wasm/wasm.ts";

/** A module that imports one function and a global, and has functions of `sizes` no-operations. */
function moduleOf(sizes: number[]): Uint8Array {
  const name = (text: string) => [text.length, ...new TextEncoder().encode(text)];
  const section = (id: number, body: number[]) => [id, body.length, ...body];
  const code = sizes.flatMap((size) => {
    const body = [0, ...new Array<number>(size).fill(1), 0x0b];
    return [body.length, ...body];
  });
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 0, 0]),
    ...section(2, [2, ...name("env"), ...name("f"), 0, 0, ...name("env"), ...name("g"), 3, 0x7f, 0]),
    ...section(3, [sizes.length, ...sizes.map(() => 0)]),
    ...section(10, [sizes.length, ...code]),
  ]);
}

Deno.test("largestFunction() counts imported functions, and no other imports", () => {
  assertEquals(WebAssembly.validate(moduleOf([0, 3]) as Uint8Array<ArrayBuffer>), true);
  assertEquals([[5], [0, 3, 1], [1, 2, 9]].map((sizes) => largestFunction(moduleOf(sizes))), [1, 2, 3]);
});

Deno.test("largestFunction() returns 0 for a module without functions", () => {
  assertEquals(largestFunction(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])), 0);
});
