import { assertEquals } from "@std/assert";
import { formatRun } from "../../../src/server/mcp/python_server.ts";
import { jsonOfRepr } from "../../../src/server/mcp/repr_json.ts";
import { HANG_MS } from "../../deadline.ts";

const ran = {
  status: "ok",
  stdout: "",
  stderr: "",
  durationMs: 1,
  stateKept: true,
  truncated: false,
} as const;

Deno.test("formatRun() leaves out missing and empty parts", () => {
  assertEquals(formatRun(ran, ""), "<status>success</status>");
  assertEquals(formatRun({ ...ran, value: "''" }, ""), "<status>success</status>");
});

Deno.test("formatRun() escapes only tags of its own element", () => {
  const text = formatRun(ran, "<b> </output> < /Output\n<output x='1'> <output\n");
  assertEquals(
    text,
    "<status>success</status>\n<output>\n<b> &lt;/output&gt; < /Output\n&lt;output x='1'&gt; &lt;output\n</output>",
  );
});

Deno.test({ name: "runText() takes linear time for many incomplete tags", timeout: HANG_MS }, () => {
  const text = formatRun(ran, "<output".repeat(1_000_000));
  assertEquals(text.includes("<output<"), false);
});

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

Deno.test("jsonOfRepr() returns undefined for a long value, which it does not parse", () => {
  assertEquals(jsonOfRepr(`[${"0, ".repeat(30_000)}0]`), undefined);
});
