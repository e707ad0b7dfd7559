import { assertEquals } from "@std/assert";
import { toWellFormedJson } from "../src/json.ts";

Deno.test("toWellFormedJson() replaces unpaired surrogates and changes nothing else", () => {
  const values: [unknown, unknown][] = [
    ["\ud83d", "\ufffd"],
    ["\ude00 \ud83d\ude00", "\ufffd 😀"],
    [{ "\ud83d": ["\\\ud83d", "\\\\"] }, { "\ufffd": ["\\\ufffd", "\\\\"] }],
    ["\\ud83d \\\\ud83d é\n", "\\ud83d \\\\ud83d é\n"],
  ];
  for (const [value, written] of values) assertEquals(JSON.parse(toWellFormedJson(value)), written);
});
