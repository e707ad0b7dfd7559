import { assertEquals, assertThrows } from "@std/assert";
import {
  PythonTypeError,
  PythonValueError,
  UnsupportedError,
} from "../../../../src/chat/jinja/jinja_errors.ts";
import { getAttribute, getItem } from "../../../../src/chat/jinja/values/attributes.ts";
import { callFormat, formatValue } from "../../../../src/chat/jinja/values/brace_format.ts";
import { toValue } from "../../../../src/chat/jinja/values/convert.ts";
import { Float, Markup, type Value } from "../../../../src/chat/jinja/values/values.ts";
import { newRun } from "../new_run.ts";

function format(
  text: string | Markup,
  positional: readonly Value[],
  keywords: Record<string, Value> = {},
): Value {
  const args = { positional, keywords: new Map(Object.entries(keywords)) };
  return callFormat(text, "format", {
    args,
    run: newRun(),
    lookup: { attribute: getAttribute, item: getItem },
  });
}

Deno.test("format() fills fields by place, by name, and by what an argument has", () => {
  assertEquals(format("{} {}", [1, "a"]), "1 a");
  assertEquals(format("{1}{0}{{}}", ["a", "b"]), "ba{}");
  assertEquals(format("{n[k]} {n[2]}", [], { n: toValue({ k: "v", 2: "two" }) }), "v ");
  assertEquals(format("{0[1]}", [["a", "b"]]), "b");
  assertEquals(format("{!r} {!s}", ["a", "a"]), "'a' a");
  assertEquals(format("{:>{}}|", ["a", 4]), "   a|");
});

Deno.test("format() refuses fields as Python does", () => {
  const cases: readonly [string, string][] = [
    ["{} {0}", "numbered all or none"],
    ["{1}", "more fields than arguments"],
    ["{name}", "'name', which is missing"],
    ["{", "'{' without a '}'"],
    ["}", "'}' without a '{'"],
    ["{!x}", "unknown conversion"],
    ["{0:{0:{0:{0}}}}", "nested too deep"],
  ];
  for (const [text, reason] of cases) assertThrows(() => format(text, ["a"]), PythonValueError, reason);
});

Deno.test("format() of a safe text escapes what it fills in", () => {
  assertEquals(format(new Markup("<b>{}</b>"), ["<i>"]), new Markup("<b>&lt;i&gt;</b>"));
});

Deno.test("formatValue() lays numbers out as Python's format()", () => {
  const cases: readonly [Value, string, string][] = [
    [1234567, ",", "1,234,567"],
    [255, "#x", "0xff"],
    [255, "_b", "1111_1111"],
    [-42, "=+6", "-   42"],
    [42, "+06d", "+00042"],
    [3, "^5", "  3  "],
    [new Float(3.14159), ".2f", "3.14"],
    [new Float(0.256), ".1%", "25.6%"],
    [new Float(1234.5), "e", "1.234500e+03"],
    [new Float(100), "", "100.0"],
    [5, ".1f", "5.0"],
    [true, "d", "1"],
    ["ab", "*^6", "**ab**"],
    ["abc", ".2", "ab"],
    ["😀b", "*<4", "😀b**"],
  ];
  for (const [value, specifier, text] of cases) {
    assertEquals(formatValue(value, specifier, newRun()), text, specifier);
  }
});

Deno.test("formatValue() refuses what it cannot lay out, with the reason", () => {
  const run = newRun();
  assertThrows(() => formatValue(1, ".2d", run), PythonValueError, "precision");
  assertThrows(() => formatValue("a", "d", run), PythonValueError, "not for strings");
  assertThrows(() => formatValue(new Float(1), "x", run), PythonValueError, "not for floats");
  assertThrows(() => formatValue([1], "5", run), PythonTypeError, "not for list");
  assertThrows(() => formatValue(65, "c", run), UnsupportedError, "'c'");
  assertThrows(() => formatValue(1, "q q", run), PythonValueError, "not valid");
});
