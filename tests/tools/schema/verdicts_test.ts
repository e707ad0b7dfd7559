import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { PatternError } from "../../../src/tools/schema/pattern_scanner.ts";
import { toJsPattern } from "../../../src/tools/schema/python_pattern.ts";
import { checkArguments, type CheckedArguments } from "../../../src/tools/tool_arguments.ts";
import table from "../../data/json_schema/verdicts.json" with { type: "json" };
import { HANG_MS } from "../../deadline.ts";
import { compareVerdicts, type VerdictTable } from "./verdicts.ts";

function check(schema: object, p: unknown, more: object = {}): CheckedArguments {
  const parameters = { type: "object", properties: { p: schema }, ...more };
  return checkArguments({ name: "t", description: "", parameters, run: () => "" }, { p } as never);
}

Deno.test("checkArguments() accepts what Python's re, pydantic and jsonschema accept", () => {
  const { compared, skipped, refused, accepted } = compareVerdicts(table as unknown as VerdictTable);
  assert(compared > 13_000);
  assertEquals(skipped, [
    "^(?>a+)b",
    "^a++b$",
    "^(a)?(?(1)b|c)$",
    "^\\N{DIGIT ONE}$",
    "^[[:alpha:]]+$",
    "^[a-z&&[^b]]+$",
  ]);
  // `$` of Python's re also matches before a line feed at the end; that of JavaScript and of pydantic does not
  assertEquals(refused, [
    'pattern (?a)^\\w+$ "b\\n"',
    'pattern (?a)^\\w+$ "a\\n"',
    'pattern ^a{,}$ "a\\n"',
    'pattern ^a{,}$ "\\n"',
  ]);
  // of JSON Schema's own formats, and a limit and a case of letters that only pydantic has
  assertEquals(accepted, [
    'format date "0000-01-01"',
    'format time "23:59:60+00:00"',
    'format time "23:59:60Z"',
    'format duration "P1000000000D"',
    'format uuid "URN:UUID:12345678-1234-5678-1234-567812345678"',
  ]);
});

Deno.test("checkArguments() refuses what does not match a pattern or format, and names the format", () => {
  const cases: readonly [schema: object, good: unknown, bad: unknown, why: string][] = [
    [{ type: "string", pattern: "^\\d{3}\\-\\d{4}$" }, "555-1234", "5551234", "does not match pattern"],
    [{ type: "string", pattern: "(?i)^abc$" }, "ABC", "ABD", "does not match pattern"],
    [{ type: "string", pattern: "^[\\w-.]+$" }, "a-b", "a b", "does not match pattern"],
    [
      { type: "string", pattern: "\\A(?P<y>\\d{4})-(?P=y)\\Z" },
      "2024-2024",
      "2024-2025",
      "does not match pattern",
    ],
    [{ type: "string", format: "date-time" }, "2024-01-01T10:00:00", "2024-13-01", 'format "date-time"'],
    [{ type: "string", format: "time" }, "10:00:00", "25:00", 'format "time"'],
    [{ type: "string", format: "duration" }, "-PT0.5S", "PT", 'format "duration"'],
    [{ type: "string", format: "ipv4" }, "1.2.3.4", "1.2.3.400", 'format "ipv4"'],
    [{ type: "number", multipleOf: 0.01 }, 19.99, 19.999, "not a multiple"],
    [{ type: "object", patternProperties: { "^\\w\\-1$": { type: "integer" } } }, { "a-1": 1 }, {
      "a-1": "x",
    }, "type"],
    [
      { type: "array", items: { anyOf: [{ type: "null" }, { pattern: "^\\-$" }] } },
      ["-", null],
      ["+"],
      "pattern",
    ],
  ];
  for (const [schema, good, bad, why] of cases) {
    assertEquals(check(schema, good), { arguments: { p: good } });
    const checked = check(schema, bad);
    assert("wrong" in checked, JSON.stringify([schema, bad]));
    assertStringIncludes(checked.wrong, why);
  }
});

Deno.test("checkArguments() leaves out a pattern that JavaScript cannot express, and checks the rest", () => {
  const schema = { type: "string", pattern: "^(?>a+)b", maxLength: 3 };
  assertEquals(check(schema, "x"), { arguments: { p: "x" } });
  assert("wrong" in check(schema, "xxxx"));
  const closed = {
    type: "object",
    patternProperties: { "^a++$": { type: "integer" } },
    additionalProperties: false,
  };
  assertEquals(check(closed, { a: 1 }), { arguments: { p: { a: 1 } } });
  assertEquals(check({ type: "string", pattern: "[" }, "x"), { arguments: { p: "x" } });
});

Deno.test("checkArguments() takes properties and values called 'pattern' or 'format' as they are", () => {
  const value = { pattern: "(?i)x", format: "date-time" };
  assertEquals(check({ const: value }, value), { arguments: { p: value } });
  const named = { type: "object", properties: { pattern: { enum: ["a"] }, format: { type: "string" } } };
  assertEquals(check(named, { pattern: "a", format: "(" }), {
    arguments: { p: { pattern: "a", format: "(" } },
  });
  assert("wrong" in check(named, { pattern: "b" }));
  assert("wrong" in check({ $ref: "#/$defs/f" }, "x", { $defs: { f: { type: "string", format: "date" } } }));
});

Deno.test("toJsPattern() names what it cannot translate", () => {
  for (
    const pattern of [
      "(?>a)",
      "a++",
      "(?(1)a)",
      "[a&&b]",
      "\\N{DASH}",
      "(?L)a",
      "a)",
      "(a",
      "[a",
      "\\",
      "\\2(a)",
    ]
  ) {
    assertThrows(() => toJsPattern(pattern), PatternError, "Cannot translate pattern as it has");
  }
});

Deno.test({ name: "toJsPattern() reads deep patterns, and refuses long ones", timeout: HANG_MS }, () => {
  for (const pattern of ["(", "[", "a{1", "(?i)", "(?#", "\\p{", "a|", "[^\\W]", "(?P<a"]) {
    assertThrows(() => toJsPattern(pattern.repeat(50_000)), PatternError, "more than 4096 characters");
    try {
      toJsPattern(pattern.repeat(Math.floor(4_096 / pattern.length)));
    } catch (error) {
      assert(error instanceof PatternError);
    }
  }
});

Deno.test({ name: "checkArguments() checks formats of long texts in linear time", timeout: HANG_MS }, () => {
  const digits = "1".repeat(1_000_000);
  const formats = ["date-time", "date", "time", "duration", "uuid", "email", "uri", "ipv6", "regex"];
  for (const format of formats) {
    for (
      const text of [`${digits}x`, `P${digits}`, `P${"1D".repeat(500_000)}x`, `a@${"a.".repeat(500_000)}`]
    ) {
      assert(!("broken" in check({ type: "string", format }, text)));
    }
  }
});
