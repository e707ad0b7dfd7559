import { assertEquals } from "@std/assert";
import { jsonOfRepr } from "../../../src/server/mcp/json_of_repr.ts";

Deno.test("jsonOfRepr() converts plain values to JSON and keeps strings", () => {
  const cases: readonly [repr: string, json: string][] = [
    ["'foobar'", "foobar"],
    ["''", ""],
    [String.raw`"it's \\ \n \xe9 \u2028 \U0001f600"`, "it's \\ \n é \u2028 😀"],
    ["4", "4"],
    ["-0.5", "-0.5"],
    ["1e+16", "1e+16"],
    ["123456789012345678901234567890", "123456789012345678901234567890"],
    ["True", "true"],
    ["[]", "[]"],
    ["()", "[]"],
    ["{}", "{}"],
    ["[1, 2.0]", "[\n  1,\n  2.0\n]"],
    ["('a',)", '[\n  "a"\n]'],
    ["{'a': None, 1: [False]}", '{\n  "a": null,\n  "1": [\n    false\n  ]\n}'],
  ];
  for (const [repr, json] of cases) assertEquals(jsonOfRepr(repr), json, repr);
});

Deno.test("jsonOfRepr() returns undefined for other values", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const cases = [
    "",
    "{1, 2}",
    "b'x'",
    "1j",
    "nan",
    "<object at 0x1>",
    "f(1)",
    "[1",
    "1 2",
    "'a",
    "['\\x001']",
    deep,
  ];
  for (const repr of cases) assertEquals(jsonOfRepr(repr), undefined, repr.slice(0, 40));
});
