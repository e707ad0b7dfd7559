import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentRangeError, ArgumentTypeError } from "../../../src/errors.ts";
import {
  BINARY_TYPES,
  type BinaryType,
  checkInputs,
  encodeInputs,
  fromBinaryInput,
  MAX_INPUT_BYTES,
  toBinaryInput,
} from "../../../src/sandbox/exec/exec_inputs.ts";

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

Deno.test("checkInputs() accepts plain JSON, bytes and typed arrays", () => {
  checkInputs(undefined);
  checkInputs({});
  checkInputs({ a: null, b: [1, -0.5, "x", true, { "any key": [] }], c: Object.create(null) });
  checkInputs({ data: new Uint8Array(3), many: new Float64Array(2), é: 1, _: 1, __x: 1, match: 1 });
  checkInputs({ deep: nested(64) });
});

Deno.test("checkInputs() refuses names that are no Python identifiers, keywords and dunder names", () => {
  const names = [
    "",
    "1a",
    "a b",
    "a.b",
    "a\n",
    "class",
    "None",
    "await",
    "__name__",
    "__builtins__",
    "ﬁ",
    "😀",
  ];
  for (const name of [...names, "a".repeat(257)]) {
    assertThrows(() => checkInputs({ [name]: 1 }), ArgumentTypeError, "the name of an input must be");
  }
});

Deno.test("checkInputs() names the place of a value that JSON cannot represent", () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const cases: [unknown, string][] = [
    [undefined, "found undefined at x"],
    [NaN, "found NaN at x"],
    [{ a: [1, Infinity] }, "found Infinity at x.a[1]"],
    [[1, , 3], "found undefined at x[1]"],
    [10n ** 4_300n, "found a bigint of 4301 digits at x"],
    [() => 1, "found function at x"],
    [Symbol("s"), "found symbol at x"],
    [new Date(0), "found an instance of Date at x"],
    [{ m: new Map() }, "found an instance of Map at x.m"],
    [{ data: new Uint8Array(1) }, "found a Uint8Array at x.data"],
    [new DataView(new ArrayBuffer(1)), "found a DataView at x"],
    [new ArrayBuffer(1), "found an instance of ArrayBuffer at x"],
    [{ toJSON: () => 1 }, "found a toJSON method at x"],
  ];
  for (const [value, message] of cases) {
    assertThrows(() => checkInputs({ x: value }), ArgumentTypeError, message);
  }
  assertThrows(() => checkInputs({ x: cyclic }), ArgumentRangeError, "at most 64 levels deep");
  for (const inputs of [null, [], 5, new Map()]) {
    assertThrows(() => checkInputs(inputs), ArgumentTypeError, "must be an object of values by name");
  }
});

Deno.test("checkInputs() limits the number, the size and the depth of inputs", () => {
  const many = Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`x${index}`, index]));
  assertThrows(() => checkInputs(many), ArgumentRangeError, "at most 256 entries: current value has 257");
  assertThrows(() => checkInputs({ x: nested(65) }), ArgumentRangeError, "at most 64 levels deep");
  assertThrows(
    () => checkInputs({ x: Array(60_000).fill(0), y: Array(60_000).fill(0) }),
    ArgumentRangeError,
    "at most 100000 values",
  );
  const half = new Uint8Array(MAX_INPUT_BYTES / 2 + 1);
  checkInputs({ a: half });
  assertThrows(
    () => checkInputs({ a: half, b: half }),
    ArgumentRangeError,
    `at most ${MAX_INPUT_BYTES} bytes`,
  );
  const text = "x".repeat(MAX_INPUT_BYTES / 2 + 1);
  assertThrows(
    () => checkInputs({ a: [text, text] }),
    ArgumentRangeError,
    `at most ${MAX_INPUT_BYTES} bytes`,
  );
});

Deno.test("encodeInputs() copies values and limits the size of their JSON", () => {
  const bytes = new Uint8Array([1, 2, 3]).subarray(1);
  const [plain, binary] = encodeInputs({ a: { b: [1, "é"] }, c: bytes });
  bytes[0] = 9;
  assertEquals(plain, { name: "a", type: "json", contents: new TextEncoder().encode('{"b":[1,"é"]}') });
  assertEquals(binary, { name: "c", type: "bytes", contents: new Uint8Array([2, 3]) });
  const escaped = "\0".repeat(MAX_INPUT_BYTES / 4);
  assertThrows(() => encodeInputs({ escaped }), ArgumentRangeError, `at most ${MAX_INPUT_BYTES} bytes`);
});

Deno.test("fromBinaryInput() returns the typed array that toBinaryInput() was called with", () => {
  for (const [name, type] of Object.entries(BINARY_TYPES)) {
    const array = new type(new Uint8Array([1, 2, 3, 4, 5, 6, 7, 0, 9, 8, 7, 6, 5, 4, 3, 2]).buffer);
    const input = toBinaryInput(array);
    assertEquals(input?.type, name as BinaryType);
    assertEquals(input && fromBinaryInput("x", input), array);
  }
  assertEquals(toBinaryInput([1]), undefined);
  assertThrows(
    () => fromBinaryInput("x", { type: "float64", contents: new Uint8Array(7) }),
    ArgumentRangeError,
    "input 'x' must have a multiple of 8 bytes: current value has 7",
  );
});
