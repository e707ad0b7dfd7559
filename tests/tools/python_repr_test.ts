import { assertEquals } from "@std/assert";
import { pythonFloat, pythonStr } from "../../src/tools/python_repr.ts";

interface Golden {
  /** Texts of floats as Python writes them. */
  floats: string[];
  dict_str: { json: string; out: string }[];
}

const FILE = new URL("../goldens/py_semantics.json", import.meta.url);
const goldens: Golden = JSON.parse(await Deno.readTextFile(FILE));

Deno.test("pythonStr() matches the recorded str(dict)", () => {
  for (const { json, out } of goldens.dict_str) assertEquals(pythonStr(JSON.parse(json)), out);
});

Deno.test("pythonStr() writes values like Python", () => {
  const cases: readonly [value: unknown, text: string][] = [
    ["plain 'text'", "plain 'text'"],
    [undefined, "None"],
    [[], "[]"],
    [{}, "{}"],
    [["it's", 'say "x"', "both ' and \""], `["it's", 'say "x"', 'both \\' and "']`],
    [["a\n\t\\\u0000\u007f\u200b\u00a0é😀"], "['a\\n\\t\\\\\\x00\\x7f\\u200b\\xa0é😀']"],
    [
      [1e-5, 0.0001, 1e16, 1e15, 1.5e300, -0, 0.1, 123456789.123],
      "[1e-05, 0.0001, 1e+16, 1000000000000000, 1.5e+300, -0.0, 0.1, 123456789.123]",
    ],
    [[NaN, Infinity, -Infinity], "[nan, inf, -inf]"],
    [{ "a'b": undefined, c: [true, false, null] }, "{'c': [True, False, None]}"],
  ];
  for (const [value, text] of cases) assertEquals(pythonStr(value), text);
});

Deno.test("pythonFloat() matches the recorded repr(float)", () => {
  for (const text of goldens.floats) assertEquals(pythonFloat(Number(text)), text);
});

Deno.test("pythonFloat() always writes a point or an exponent", () => {
  assertEquals([10, 0.5, 0.02, 1e16, -3].map(pythonFloat), ["10.0", "0.5", "0.02", "1e+16", "-3.0"]);
});
