import { assertEquals } from "@std/assert";
import { isForgedCall } from "../../src/sandbox/guest/native_calls.ts";

const [CALL, TYPES, TYPE, FIELDS] = [64, 128, 192, 256];
const [INTEGER, STRUCTURE] = [10, 13];

interface Described {
  count?: number;
  fixed?: number;
  types?: number;
  size?: number;
  kind?: number;
  fields?: number;
  firstField?: number;
}

/** A heap with the description of one call in it, as libffi lays it out. */
function heapWith(
  { count = 1, fixed = count, types = TYPES, size = 4, kind = INTEGER, fields = FIELDS, firstField = 0 }:
    Described,
): Uint8Array {
  const heap = new Uint8Array(4096);
  const view = new DataView(heap.buffer);
  const words = (at: number, ...numbers: number[]) =>
    numbers.forEach((number, index) => view.setUint32(at + 4 * index, number, true));
  words(CALL, 1, count, types, TYPE, 0, 0, fixed);
  words(TYPES, TYPE);
  words(TYPE, size, kind << 16, fields);
  words(FIELDS, firstField);
  return heap;
}

const FORGED: Readonly<Record<string, Described>> = {
  "more arguments than 'ctypes' takes": { count: 1025 },
  "arguments without number": { count: 0xffffffff },
  "more fixed arguments than arguments": { fixed: 2 },
  "types beyond the end of memory": { types: 4094 },
  "a structure that holds itself": { kind: STRUCTURE, firstField: TYPE },
  "a structure of two megabytes": { kind: STRUCTURE, size: 2 << 20 },
  "fields beyond the end of memory": { kind: STRUCTURE, fields: 0xfffffff0 },
  "a field beyond the end of memory": { kind: STRUCTURE, firstField: 4090 },
};

for (const [name, described] of Object.entries(FORGED)) {
  Deno.test(`isForgedCall() knows a call with ${name}`, () => {
    assertEquals(isForgedCall(heapWith(described), CALL), true);
  });
}

Deno.test("isForgedCall() lets pass what 'ctypes' makes", () => {
  assertEquals(isForgedCall(heapWith({}), CALL), false);
  assertEquals(isForgedCall(heapWith({ count: 0 }), CALL), false);
  assertEquals(isForgedCall(heapWith({ kind: STRUCTURE, size: 8 }), CALL), false);
});

Deno.test("isForgedCall() takes a call beyond the end of memory for forged", () => {
  assertEquals(isForgedCall(heapWith({}), 4090), true);
  assertEquals(isForgedCall(heapWith({}), -8), true);
});
