import { assertEquals, assertThrows } from "@std/assert";
import { formatTemplate } from "../../../../src/envs/workspace/config/template.ts";

Deno.test("formatTemplate() fills names, keys and indices", () => {
  const values = { name: "Blotto", task: { id: "b", tags: ["x", "y"] }, empty: "" };
  assertEquals(formatTemplate("{name}: {task.id} {task[tags][1]}{empty}.", values), "Blotto: b y.");
  assertEquals(formatTemplate("{{{name}}} {{}}", values), "{Blotto} {}");
  assertEquals(formatTemplate("", values), "");
});

Deno.test("formatTemplate() writes values as Python does", () => {
  const values = { flag: true, none: null, list: ["a", 1], scores: { Score: 2.5 }, n: 3, text: "it's é" };
  assertEquals(
    formatTemplate("{flag} {none} {list} {scores} {n} {text!r} {text!a} {n!s}", values),
    `True None ['a', 1] {'Score': 2.5} 3 "it's é" "it's \\xe9" 3`,
  );
});

Deno.test("formatTemplate() supports Python's format mini-language", () => {
  // what CPython writes
  const cases: [string, unknown, string][] = [
    ["{v:.2f}", 3.14159, "3.14"],
    ["{v:8.3f}|", -2.5, "  -2.500|"],
    ["{v:<6}|", 12, "12    |"],
    ["{v:>6}|", "ab", "    ab|"],
    ["{v:^7}|", "ab", "  ab   |"],
    ["{v:*^7}|", "ab", "**ab***|"],
    ["{v:06d}", -42, "-00042"],
    ["{v:+d}", 5, "+5"],
    ["{v:,}", 1234567, "1,234,567"],
    ["{v:,.2f}", 1234567.891, "1,234,567.89"],
    ["{v:_d}", 12345, "12_345"],
    ["{v:.1%}", 0.256, "25.6%"],
    ["{v:e}", 12345.678, "1.234568e+04"],
    ["{v:.3g}", 0.00001234, "1.23e-05"],
    ["{v:g}", 100000, "100000"],
    ["{v:g}", 1000000, "1e+06"],
    ["{v:x}", 255, "ff"],
    ["{v:#X}", 255, "0XFF"],
    ["{v:b}", 5, "101"],
    ["{v:.3}", "abcdef", "abc"],
    ["{v:5}|", "ab", "ab   |"],
    ["{v:.3f}", Infinity, "inf"],
  ];
  for (const [template, v, expected] of cases) {
    assertEquals(formatTemplate(template, { v }), expected, template);
  }
});

Deno.test("formatTemplate() names the unknown name and the known ones", () => {
  const error = assertThrows(() => formatTemplate("a {mising} b", { missing: 1, name: 2 }), SyntaxError);
  assertEquals(
    error.message,
    "Cannot fill template as '{mising}' must name a known value: there is no 'mising', only missing, name",
  );
  assertThrows(() => formatTemplate("{a.b}", { a: { c: 1 } }), SyntaxError, "there is no 'b', only c");
  assertThrows(() => formatTemplate("{constructor}", {}), SyntaxError, "there is no 'constructor'");
  assertThrows(() => formatTemplate("{a.__proto__}", { a: {} }), SyntaxError, "there is no '__proto__'");
});

Deno.test("formatTemplate() reports an invalid brace or format", () => {
  assertThrows(
    () => formatTemplate("a\nb }", {}),
    SyntaxError,
    "a '}' must be written '}}': see line 2 of it",
  );
  assertThrows(() => formatTemplate("{a", {}), SyntaxError, "a '{' must be written '{{', or closed");
  assertThrows(() => formatTemplate("{a:{b}}", { a: 1, b: 2 }), SyntaxError, "a field must hold no other");
  assertThrows(() => formatTemplate("{a!x}", { a: 1 }), SyntaxError, "must be one of !r, !s, !a");
  assertThrows(() => formatTemplate("{a:d}", { a: "x" }), SyntaxError, "must be a number");
  assertThrows(() => formatTemplate("{a:d}", { a: 1.5 }), SyntaxError, "must be a whole number");
  assertThrows(
    () => formatTemplate("{a:999999999}", { a: 1 }),
    SyntaxError,
    "must have a valid Python format",
  );
  assertThrows(() => formatTemplate("{a b.}", { "a b": 1 }), SyntaxError, "with '.key' or '[key]' behind it");
});
