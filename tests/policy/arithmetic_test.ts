import { assertEquals } from "@std/assert";
import { parseArithmetic } from "../../src/policy/arithmetic.ts";

const values: readonly (readonly [text: string, value: number])[] = [
  ["48/2", 24],
  ["2+3*4", 14],
  ["(2+3)*4-1", 19],
  ["10-3-4", 3],
  ["100/5/2", 10],
  ["-3+-(2)", -5],
  ["05*2", 10],
  [".5*4", 2],
  ["5.*2", 10],
  ["1,200 + $300", 1500],
  ["20%*50", 10],
  ["5 x 3", 15],
  ["5x3", 15],
  ["6 × 4 ÷ 3", 8],
  ["7 − 2", 5],
  ["5 apples + 3 kg", 8],
];

for (const [text, value] of values) {
  Deno.test(`parseArithmetic() parses '${text}'`, () => assertEquals(parseArithmetic(text)?.value, value));
}

const nonsense = [
  "",
  "  ",
  "+",
  "2+",
  "(2",
  "2)",
  "2 3",
  "1/0",
  "2**3",
  "2^3",
  "1.2.3",
  "%",
  "__import__('os')",
];

for (const text of [...nonsense, "(".repeat(100_000), "-".repeat(100_000) + "1"]) {
  Deno.test(`parseArithmetic() returns null for '${text.slice(0, 20)}'`, () => {
    assertEquals(parseArithmetic(text), null);
  });
}
