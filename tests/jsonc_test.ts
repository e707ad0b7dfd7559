import { parse } from "@std/jsonc";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { JsoncError, JsoncFile, parseJsonc } from "../src/jsonc.ts";
import { seededRandom } from "../src/seeded_random.ts";

/** Pieces of JSON with comments, right and wrong ones. */
const PIECES = [
  ..."{}[],:",
  ...[
    '"a"',
    '"b"',
    '"',
    "1",
    "0",
    "-",
    "01",
    "1.",
    "1.5e3",
    "1e",
    "-0",
    "+1",
    ".5",
    "0x1",
    "NaN",
    "Infinity",
  ],
  ...[
    "true",
    "false",
    "null",
    "nul",
    "//x\n",
    "/*y*/",
    "/*",
    "//",
    "#",
    " ",
    "\n",
    "\t",
    "\r",
    "\v",
    "\f",
    "\0",
  ],
  ...["\u00a0", "\u2028", "'a'", '"\\u12"', '"\\u0041"', '"\\x"', '"\\n"', '"\t"', '"\n"', '"\u0001"', "\\"],
];
const WHOLE = [
  '{"a":[1,2,{"b":null,},],"c":"x"}',
  '{ // c\n "a": 1.5e3, /* d */ "b": "\\u0041" }',
  '[true,false,null,-0,"\\"",{}]',
];

/** Returns what a parser makes of a text: JSON, or `undefined` if it throws. */
function resultOf(read: (text: string) => unknown, text: string): string | undefined {
  try {
    return JSON.stringify(read(text));
  } catch (error) {
    assert(error instanceof SyntaxError, text);
    return error instanceof JsoncError && /there twice/.test(error.message) ? "twice" : undefined;
  }
}

Deno.test("parseJsonc() accepts what @std/jsonc accepts, with the same value", () => {
  const random = seededRandom(7);
  const index = (size: number) => Math.floor(random() * size);
  const piece = () => PIECES[index(PIECES.length)] ?? "";
  let accepted = 0;
  for (let count = 0; count < 30_000; count++) {
    const whole = WHOLE[index(WHOLE.length)] ?? "";
    const at = index(whole.length);
    const text = count % 2 === 0
      ? Array.from({ length: 1 + index(7) }, piece).join("")
      : whole.slice(0, at) + piece() + whole.slice(at + index(2));
    const found = resultOf((text) => parseJsonc(text, "x"), text);
    if (found === "twice") continue;
    assertEquals(found, resultOf(parse, text), JSON.stringify(text));
    if (found !== undefined) accepted++;
  }
  assert(accepted > 3_000);
});

Deno.test("parseJsonc() reads a byte order mark, comments and trailing commas", () => {
  assertEquals(parseJsonc('\ufeff{ /* a */ "a": [1, "b", null,], // c\n "d": {}, }', "x"), {
    a: [1, "b", null],
    d: {},
  });
});

Deno.test("parseJsonc() names line and column of a key that is there twice, at any depth", () => {
  const error = assertThrows(() => parseJsonc('{ "a": [{\n  "b": 1,\n    "b": 1 }] }', "'f'"), JsoncError);
  assertEquals([error.line, error.column], [3, 5]);
  assertEquals(
    error.message,
    "Cannot read 'f' at line 3, column 5 as 'b' is there twice: remove one of them",
  );
  for (const text of ['{"a":1,"\\u0061":2}', '{"a":1,"b":{},"a":1}', '[[{"":1,"":2}]]']) {
    assertThrows(() => parseJsonc(text, "x"), JsoncError, "is there twice");
  }
});

Deno.test("parseJsonc() bounds the depth, the values and the length of a text", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assertEquals(JSON.stringify(parseJsonc(nested(64), "x")), nested(64));
  const bounds: readonly (readonly [string, string])[] = [
    [nested(65), "at line 1, column 65 as it is nested too deeply"],
    ['{"a":'.repeat(200_000), "as it is nested too deeply"],
    [`[${"1,".repeat(100_000)}]`, "as it must have at most 100000 values"],
    [" ".repeat(2 ** 20 + 1), "as it must have at most 1048576 characters"],
  ];
  for (const [text, message] of bounds) assertThrows(() => parseJsonc(text, "x"), JsoncError, message);
});

Deno.test("JsoncFile has the place and the text of each value", () => {
  const file = new JsoncFile('{ "a": { "b": 1.50 } }', "'f'");
  const member = file.members(file.root).get("a");
  if (member === undefined) throw new Error("There must be a member");
  const inner = file.members(member.value).get("b");
  if (inner === undefined) throw new Error("There must be a member");
  assertEquals(file.textOf(inner.value), "1.50");
  assertEquals(file.members(inner.value).size, 0);
  assertEquals(
    file.error(inner.value, "as it is odd").message,
    "Cannot read 'f' at line 1, column 15 as it is odd",
  );
});
