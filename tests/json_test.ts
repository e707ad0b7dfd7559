import { assertEquals, assertThrows } from "@std/assert";
import { JsonLimitError, parseUntrustedJson, toWellFormedJson } from "../src/json.ts";

Deno.test("toWellFormedJson() replaces unpaired surrogates and changes nothing else", () => {
  const values: [unknown, unknown][] = [
    ["\ud83d", "\ufffd"],
    ["\ude00 \ud83d\ude00", "\ufffd 😀"],
    [{ "\ud83d": ["\\\ud83d", "\\\\"] }, { "\ufffd": ["\\\ufffd", "\\\\"] }],
    ["\\ud83d \\\\ud83d é\n", "\\ud83d \\\\ud83d é\n"],
  ];
  for (const [value, written] of values) assertEquals(JSON.parse(toWellFormedJson(value)), written);
});

Deno.test("parseUntrustedJson() refuses a text above its limits before it parses it", () => {
  const limits = { depth: 3, values: 5 };
  for (
    const text of [
      "[[[1]]]",
      '{"a": {"b": [1, 2]}}',
      "[1, 2, 3, 4, 5]",
      '"[[[[,,,,,,,"',
      '["\\\\", "\\"[[[[,,,,,,,"]',
    ]
  ) {
    assertEquals(parseUntrustedJson(text, limits), JSON.parse(text), text);
  }
  for (
    const text of [
      "[[[[1]]]]",
      "[[[[",
      "[1, 2, 3, 4, 5, 6]",
      "[[],[],[],[]]",
      '["\\\\", 1, 2, 3, 4, 5]',
      '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}',
    ]
  ) {
    assertThrows(() => parseUntrustedJson(text, limits), JsonLimitError, "JSON must");
  }
});

Deno.test("parseUntrustedJson() leaves invalid JSON to the parser", () => {
  for (const text of ["", '"', '"\\"', "[1,", "]", "{]"]) {
    assertThrows(() => parseUntrustedJson(text), SyntaxError);
  }
});
