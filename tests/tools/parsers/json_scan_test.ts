import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { parseJson, scanJson } from "../../../src/tools/parsers/json_scan.ts";

Deno.test("parseJson() reads everything that JSON.stringify writes, including a key named __proto__", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    const json = JSON.stringify(value);
    assertEquals(parseJson(json), JSON.parse(json));
    assertEquals(parseJson(JSON.stringify(value, null, 2)), JSON.parse(json));
  }));
  const parsed = parseJson('{"__proto__":{"a":1}}') as object;
  assertEquals(Object.getPrototypeOf(parsed), Object.prototype);
  assertEquals(Object.keys(parsed), ["__proto__"]);
});

Deno.test("parseJson() refuses what JSON.parse refuses, except NaN and Infinity", () => {
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\u01e.-+tn \n') }), (text) => {
    if (accepts(JSON.parse, text)) assertEquals(parseJson(text), JSON.parse(text));
    else assertThrows(() => parseJson(text), SyntaxError);
  }));
  assertEquals(parseJson("[NaN, Infinity, -Infinity, 1e400]"), [NaN, Infinity, -Infinity, Infinity]);
});

const errors: Readonly<Record<string, string>> = {
  "": "Expecting value: line 1 column 1 (char 0)",
  "not json": "Expecting value: line 1 column 1 (char 0)",
  '{"a": 1} x': "Extra data: line 1 column 10 (char 9)",
  "{'a': 1}": "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
  '{"a" 1}': "Expecting ':' delimiter: line 1 column 6 (char 5)",
  "[1 2]": "Expecting ',' delimiter: line 1 column 4 (char 3)",
  '{\n"a": 1,\n}': "Illegal trailing comma before end of object: line 2 column 7 (char 8)",
  '"a': "Unterminated string starting at: line 1 column 1 (char 0)",
  '"a\nb"': "Invalid control character at: line 1 column 3 (char 2)",
  '"\\x"': "Invalid \\escape: line 1 column 2 (char 1)",
};

for (const [text, message] of Object.entries(errors)) {
  Deno.test(`parseJson() reports Python's error for ${JSON.stringify(text)}`, () => {
    assertEquals(assertThrows(() => parseJson(text), SyntaxError).message, message);
  });
}

Deno.test("scanJson() returns where the value ends and counts errors from its start", () => {
  assertEquals(scanJson('x {"a":"}"} rest', 1), { value: { a: "}" }, end: 11 });
  assertThrows(() => scanJson("xx\nyy", 3), SyntaxError, "Expecting value: line 1 column 1 (char 0)");
});

Deno.test("parseJson() refuses deep nesting without overflowing the stack", () => {
  assertThrows(() => parseJson("[".repeat(1_000_000)), SyntaxError, "Too deeply nested");
});

function accepts(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}
