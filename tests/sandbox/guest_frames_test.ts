import { assert, assertEquals } from "@std/assert";
import { countValues } from "../../src/sandbox/guest_frames.ts";

const count = (text: string) => countValues(new TextEncoder().encode(text));

Deno.test("countValues() counts the values of JSON text and ignores the contents of strings", () => {
  assertEquals(count("1"), 1);
  assertEquals(count("[1, 2, 3]"), 4);
  assertEquals(count('{"a": [], "b": {}}'), 5);
  assertEquals(count(String.raw`["a,b[{", "\",", "\\", ","]`), 5);
});

Deno.test("countValues() never returns less than the number of values", () => {
  const values = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Object.values(value).reduce((sum: number, part) => sum + values(part), 1)
      : 1;
  for (const value of [[], {}, [[], [[]], {}], { a: { b: [1, 2, { c: null }] } }, "x", [[1], [2], [3]]]) {
    assert(count(JSON.stringify(value)) >= values(value), JSON.stringify(value));
  }
});
