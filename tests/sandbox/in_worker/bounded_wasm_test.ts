import { assert, assertEquals, assertThrows } from "@std/assert";
import { boundWasm } from "../../../src/sandbox/in_worker/bounded_wasm.ts";

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
/** `() => ()` and `() => f64`. */
const TYPES = [2, 0x60, 0, 0, 0x60, 0, 1, 0x7c];
const NOTHING = [0, 0x0b];

/** A module with the code of one function `run`, and a memory of one page. */
function moduleOf(code: number[], clock = "emscripten_get_now"): Uint8Array<ArrayBuffer> {
  const name = (text: string) => [text.length, ...new TextEncoder().encode(text)];
  return new Uint8Array([
    ...HEADER,
    ...section(1, TYPES),
    ...section(2, [1, ...name("env"), ...name(clock), 0, 1]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(6, [1, 0x7f, 1, 0x41, 7, 0x0b]),
    ...section(7, [3, ...name("run"), 0, 1, ...name("memory"), 2, 0, ...name("seven"), 3, 0]),
    ...section(10, [1, code.length, ...code]),
  ]);
}

function section(id: number, body: number[]): number[] {
  return [id, body.length, ...body];
}

interface Exports {
  run(): void;
  memory: WebAssembly.Memory;
  seven: WebAssembly.Global;
}

async function exportsOf(wasm: Uint8Array<ArrayBuffer>, clock: () => number): Promise<Exports> {
  const { instance } = await WebAssembly.instantiate(wasm, { env: { emscripten_get_now: clock } });
  return instance.exports as unknown as Exports;
}

Deno.test("boundWasm() makes an endless loop call the clock, which may end it", async () => {
  const forEver = [0, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b];
  let calls = 0;
  const { run, seven } = await exportsOf(boundWasm(moduleOf(forEver), 4), () => {
    if (++calls === 3) throw new RangeError("enough");
    return 0;
  });
  assertThrows(run, RangeError, "enough");
  assertEquals(calls, 3);
  assertEquals(seven.value, 7);
});

Deno.test("boundWasm() counts an inner loop after every kind of operand", async () => {
  const operands = [
    ...[0x43, 0x0b, 0x03, 0x0b, 0x03, 0x1a, 0x44, 3, 3, 3, 3, 3, 3, 3, 3, 0x1a], // f32 and f64 constants
    ...[0x42, 0x83, 0x03, 0x1a, 0x41, 0, 0x28, 2, 0x83, 0x03, 0x1a], // an i64 constant, a load
    ...[0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 0x0b, 0], // memory.fill
    ...[0x02, 0x40, 0x02, 0x40, 0x41, 0, 0x0e, 1, 0, 1, 0x0b, 0x0b], // br_table out of blocks
    ...[0x41, 1, 0x41, 2, 0x41, 0, 0x1c, 1, 0x7f, 0x1a], // select of a type
    ...[0x41, 3, 0xfd, 0x11, 0xfd, 0x15, 3, 0x1a], // a vector, and one of its lanes
  ];
  const nested = [...[0, ...operands, 0x02, 0x40], ...[
    0x03,
    0x40,
    0x03,
    0x40,
    0x0c,
    0,
    0x0b,
    0x0b,
    0x0b,
    0x0b,
  ]];
  const { run } = await exportsOf(boundWasm(moduleOf(nested), 4), () => {
    throw new RangeError("enough");
  });
  assertThrows(run, RangeError, "enough");
});

Deno.test("boundWasm() limits the growth of memory", async () => {
  const { memory } = await exportsOf(boundWasm(moduleOf(NOTHING), 4), () => 0);
  assertEquals(memory.grow(3), 1);
  assertThrows(() => memory.grow(1), RangeError);
});

Deno.test("boundWasm() refuses a module without a clock or with unknown instructions", () => {
  assertThrows(() => boundWasm(moduleOf(NOTHING, "other"), 4), SyntaxError, "must import");
  assertThrows(() => boundWasm(moduleOf([0, 0xfb, 0, 0x0b]), 4), SyntaxError, "0xfb");
  assert(WebAssembly.validate(boundWasm(moduleOf(NOTHING), 4)));
});
