import { assertEquals, assertThrows } from "@std/assert";
import { losesDigits } from "../../src/numbers/decimal.ts";
import { parseDataJson, parseUntrustedDataJson, toDataJson } from "../../src/numbers/data_json.ts";

/** A text, and what it is parsed to. */
const NUMBERS: readonly (readonly [string, unknown])[] = [
  ["18446744073709551617", "18446744073709551617"],
  ["-9007199254740993", "-9007199254740993"],
  ["9007199254740991", 9007199254740991],
  ["-9007199254740991", -9007199254740991],
  ["9007199254740992", "9007199254740992"],
  ["10000000000000000", "10000000000000000"],
  ["1e400", "1e400"],
  ["-1.5E+400", "-1.5E+400"],
  [`${"9".repeat(310)}.5`, `${"9".repeat(310)}.5`],
  ["1e22", 1e22],
  ["1e-400", 0],
  ["0.1234567890123456789", 0.12345678901234568],
  ["12345678901234567.5", 12345678901234568],
  ["50.0", 50],
];

for (const [text, expected] of NUMBERS) {
  Deno.test(`parseDataJson() reads ${text.slice(0, 24)} at any depth as ${String(expected).slice(0, 24)}`, () => {
    assertEquals(parseDataJson(text), expected);
    assertEquals(parseDataJson(`{"a":[{"b": [${text},1]}], "c":"${text}"}`), {
      a: [{ b: [expected, 1] }],
      c: text,
    });
    assertEquals(JSON.parse(toDataJson(`[\n${text}\n]`)), [expected]);
  });
}

const ANSWERS: readonly (readonly [string, unknown])[] = [
  ["0.1234567890123456789", "0.1234567890123456789"],
  ["3.14159265358979323846", "3.14159265358979323846"],
  ["-1234567890123456.789012", "-1234567890123456.789012"],
  ["1e-400", "1e-400"],
  ["0.30000000000000004", 0.30000000000000004],
  ["0.10000000000000000000", 0.1],
  ["1e2", 100],
  ["2.50", 2.5],
];

for (const [text, expected] of ANSWERS) {
  Deno.test(`parseDataJson() reads the answer ${text} as ${JSON.stringify(expected)}`, () => {
    assertEquals(parseDataJson(`{"query":"q","answer" : ${text}}`), { query: "q", answer: expected });
  });
}

Deno.test("parseDataJson() keeps -0 a number, strings with digits, and the last of equal keys", () => {
  assertEquals(JSON.stringify(parseDataJson("[-0, 12345678901234567890]")), '[0,"12345678901234567890"]');
  assertEquals(parseDataJson('{"a":"x 12345678901234567890, 1e999","b":" 12345678901234567"}'), {
    a: "x 12345678901234567890, 1e999",
    b: " 12345678901234567",
  });
  assertEquals(parseDataJson('{"a":1,"a":12345678901234567890}'), { a: "12345678901234567890" });
  assertEquals(parseDataJson('{"a":12345678901234567890,"a":2}'), { a: 2 });
});

Deno.test("parseDataJson() treats a key __proto__ as any other", () => {
  const value = parseDataJson('{"__proto__":{"x":12345678901234567890}}');
  assertEquals(Object.entries(Object(value)), [["__proto__", { x: "12345678901234567890" }]]);
  assertEquals(Object.getPrototypeOf(value), Object.prototype);
});

Deno.test("parseDataJson() keeps the arguments of a message's calls as text if they have a large integer", () => {
  const messages = (args: string) =>
    `[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":${args}}},` +
    `{"name":"g","arguments":{"n":[1]}}]}]`;
  assertEquals(parseDataJson(messages('{"id":[1234567890123456789]}')), [{
    role: "assistant",
    content: "",
    tool_calls: [
      { function: { name: "f", arguments: '{"id":[1234567890123456789]}' } },
      { name: "g", arguments: { n: [1] } },
    ],
  }]);
  assertEquals(parseDataJson('{"arguments":{"id":1234567890123456789}}'), {
    arguments: { id: "1234567890123456789" },
  });
});

Deno.test("parseUntrustedDataJson() throws for invalid and for too deep texts, toDataJson() returns invalid ones", () => {
  for (const text of ["[12345678901234567890", "12345678901234567890 1", "[NaN, 12345678901234567890]"]) {
    assertThrows(() => parseUntrustedDataJson(text), SyntaxError);
    assertEquals(toDataJson(text), text);
  }
  const deep = `${"[".repeat(70)}12345678901234567890${"]".repeat(70)}`;
  assertThrows(() => parseUntrustedDataJson(deep), SyntaxError, "at most 64 levels deep");
  assertThrows(
    () => parseUntrustedDataJson("[1234567890123456789,2,3]", { depth: 9, values: 2 }),
    SyntaxError,
  );
});

Deno.test("losesDigits() compares the value of the digits, not their form", () => {
  for (const text of ["0", "-0.0", "1", "10", "0.10", "1e22", "100e-2", "123456789012345680000", "5e-324"]) {
    assertEquals(losesDigits(text), false, text);
  }
  for (const text of ["9007199254740993", "0.1000000000000000055", "1e400", "1e-400"]) {
    assertEquals(losesDigits(text), true, text);
  }
});
