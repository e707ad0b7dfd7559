import { assert, assertEquals } from "@std/assert";
import { countValues } from "../../src/sandbox/guest_frames.ts";

const count = (text: string) => countValues(new TextEncoder().encode(text));

Deno.test("countValues() counts what a text of JSON holds, and nothing that stands in a string", () => {
  assertEquals(count("1"), 1);
  assertEquals(count("[1, 2, 3]"), 4);
  assertEquals(count('{"a": [], "b": {}}'), 5);
  assertEquals(count(String.raw`["a,b[{", "\",", "\\", ","]`), 5);
});

Deno.test("countValues() gives no less than there is", () => {
  const values = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Object.values(value).reduce((sum: number, part) => sum + values(part), 1)
      : 1;
  for (const value of [[], {}, [[], [[]], {}], { a: { b: [1, 2, { c: null }] } }, "x", [[1], [2], [3]]]) {
    assert(count(JSON.stringify(value)) >= values(value), JSON.stringify(value));
  }
});
