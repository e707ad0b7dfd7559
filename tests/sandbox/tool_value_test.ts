import { assert, assertEquals, assertThrows } from "@std/assert";
import { encodeToolValue, leastJsonLength, ToolMedia } from "../../src/sandbox/tool_value.ts";

Deno.test("leastJsonLength() is a lower bound of the length of JSON", () => {
  const values: unknown[] = [
    null,
    true,
    -1.5,
    2n ** 70n,
    2 ** 60,
    "a\n\u0000é",
    [],
    [1, , 3],
    {},
    { a: undefined, b: () => 1, c: [null, { d: "" }] },
    new Uint8Array(5),
    [new Uint8Array(6), new ToolMedia("abcd", "image/png")],
    new Date(0),
    [[[[[]]]], [{}]],
  ];
  for (const value of values) {
    const { json } = encodeToolValue(value);
    const least = leastJsonLength(value, Infinity);
    assert(least <= json.length, `${json}: ${least}`);
  }
  assertEquals(leastJsonLength("x".repeat(100), Infinity), 102);
});

Deno.test("a result that is far too large, or circular, is refused without a text of it", () => {
  let read = 0;
  const item = {
    get text() {
      read++;
      return "x".repeat(1_000);
    },
  };
  assertThrows(() => encodeToolValue(Array(1_000_000).fill(item)), RangeError, "at most 16777216 characters");
  assert(read < 20_000, `${read} items were read`);
  const circle: unknown[] = [];
  circle.push(circle);
  assertThrows(() => encodeToolValue(circle), TypeError, "circular");
});
