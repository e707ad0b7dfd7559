import { assertEquals, assertThrows } from "@std/assert";
import { TemplateSyntaxError } from "../../../../src/chat/jinja/jinja_errors.ts";
import { normalizeSource, positionOf, tokenize } from "../../../../src/chat/jinja/syntax/lexer.ts";
import { Float } from "../../../../src/chat/jinja/values/values.ts";

/** Returns the texts between tags. */
function dataOf(source: string): unknown[] {
  return tokenize(source).filter(({ type }) => type === "data").map(({ value }) => value);
}

/** Returns the values of the tokens inside the first tag. */
function valuesIn(source: string): unknown[] {
  return tokenize(source).slice(1, -2).map(({ value }) => value);
}

Deno.test("tokenize() gives each token its type, value and place", () => {
  assertEquals(tokenize("a{{ b }}"), [
    { type: "data", value: "a", at: 0 },
    { type: "print_begin", value: "", at: 1 },
    { type: "name", value: "b", at: 4 },
    { type: "print_end", value: "", at: 6 },
    { type: "eof", value: "", at: 8 },
  ]);
});

Deno.test("tags on a line of their own leave no line, and signs strip or keep what is beside a tag", () => {
  assertEquals(dataOf("a\n  {% if x %}\nb"), ["a\n", "b"]);
  assertEquals(dataOf("a\n  {%+ if x %}\nb"), ["a\n  ", "b"]);
  assertEquals(dataOf("a\n  {%- if x -%}\n  b"), ["a", "b"]);
  assertEquals(dataOf("a\n  {{ x }}\n b"), ["a\n  ", "\n b"]);
  assertEquals(dataOf("a {%- raw %}{{ x }}{% endraw -%} b"), ["a", "{{ x }}", "b"]);
  assertEquals(dataOf("a{# {{ x }} #}\nb"), ["a", "b"]);
  assertEquals(dataOf("a\ufeff{%- if x %}"), ["a\ufeff"], "U+FEFF is no blank of Python");
});

Deno.test("numbers and texts of a tag have the values that Python gives them", () => {
  assertEquals(valuesIn("{{ 1_000 0x1F 0b11 9007199254740993 }}"), [1000, 31, 3, 9007199254740993n]);
  assertEquals(valuesIn("{{ 1.5 2e3 }}"), [new Float(1.5), new Float(2000)]);
  assertEquals(valuesIn(String.raw`{{ 'a\n\x41\u00e9\101' "\q" 'é\\' }}`), ["a\nAéA", "\\q", "é\\"]);
  assertEquals(valuesIn("{{ é名_1 }}"), ["é名_1"]);
  assertEquals(valuesIn("{{ {'a}}': [1]} }}"), ["{", "a}}", ":", "[", 1, "]", "}"]);
});

Deno.test("tokenize() refuses what no template has, with its place", () => {
  const cases: readonly [string, string][] = [
    ["{{ 1", "a tag must end with '}}'"],
    ["{# a", "a comment must end"],
    ["{% raw %}a", "must end with 'endraw'"],
    ["{{ (1] }}", "']' closes no bracket"],
    ["{{ 'a }}", "no meaning"],
    ["{{ 2x }}{{ ²a }}", "identifier"],
    [String.raw`{{ '\N{DASH}' }}`, "by name"],
    [String.raw`{{ '\xZ' }}`, "2 hexadecimal digits"],
    [String.raw`{{ '\U00110000' }}`, "8 hexadecimal digits"],
  ];
  for (const [source, reason] of cases) assertThrows(() => tokenize(source), TemplateSyntaxError, reason);
});

Deno.test("sources end their lines with line feeds, without the last, and places count from 1", () => {
  assertEquals(normalizeSource("a\r\nb\rc\n\n"), "a\nb\nc\n");
  assertEquals([positionOf("a\nbc", 0), positionOf("a\nbc", 3)], [{ line: 1, column: 1 }, {
    line: 2,
    column: 2,
  }]);
});
