import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  add,
  exactOf,
  factorial,
  floatOf,
  invert,
  isEqual,
  multiply,
  negate,
  raise,
} from "../../../src/rewards/math/exact.ts";
import { isQuantityName } from "../../../src/rewards/math/forms.ts";
import { isSameAnswer } from "../../../src/rewards/math/same_answer.ts";

/** Generates a sum, difference, product or quotient of integers in LaTeX, with its value as a fraction. */
interface Sample {
  readonly text: string;
  readonly over: bigint;
  readonly under: bigint;
}

const leaf = fc.integer({ min: 1, max: 99 }).map((n): Sample => ({
  text: `${n}`,
  over: BigInt(n),
  under: 1n,
}));
const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.tuple(tie("sample"), tie("sample"), fc.constantFrom("+", "-", "\\cdot", "\\frac")).map(joined),
  ),
}));

function joined([a, b, operator]: [Sample, Sample, string]): Sample {
  switch (operator) {
    case "+":
      return {
        text: `(${a.text} + ${b.text})`,
        over: a.over * b.under + b.over * a.under,
        under: a.under * b.under,
      };
    case "-":
      return {
        text: `(${a.text}-${b.text})`,
        over: a.over * b.under - b.over * a.under,
        under: a.under * b.under,
      };
    case "\\frac":
      return {
        text: `\\frac{${a.text}}{${b.text}}`,
        over: a.over * b.under,
        under: b.under === 0n ? 0n : a.under * b.over, // a part without a value gives the whole none
      };
    default:
      return { text: `{${a.text}} ${operator} ${b.text}`, over: a.over * b.over, under: a.under * b.under };
  }
}

Deno.test("isSameAnswer() accepts exactly the fraction that an expression equals", () => {
  fc.assert(fc.property(sample, ({ text, over, under }) => {
    if (under === 0n) return;
    assertEquals(isSameAnswer(text, `\\frac{${over}}{${under}}`), true, text);
    assertEquals(isSameAnswer(text, `\\frac{${over + 1n}}{${under}}`), false, text);
  }));
});

Deno.test("isSameAnswer() returns for any text", () => {
  const part = fc.constantFrom(
    ..."0123456789.,+-*/^_!()[]{}|&\\%$=xyi ".split(""),
    "\\frac",
    "\\sqrt",
    "\\text{",
    "\\pm",
  );
  fc.assert(fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
    const text = parts.join("");
    assertEquals(isSameAnswer(text, "no such answer"), false);
    assertEquals(typeof isSameAnswer(text, "\\frac{1}{2}"), "boolean");
  }));
});

Deno.test("isSameAnswer() reads a long run of indices that have many readings", () => {
  const run = "_".repeat(5_000);
  assertEquals(isSameAnswer(`\\text{${run}`, `${run}A)}\\c{=`), false);
  for (const index of ["_", "_1", "_AA", "_{A", "A_1B"]) {
    const name = index.repeat(5_000 / index.length);
    assertEquals(isSameAnswer(`${name}=5`, "5"), false);
    assertEquals(isSameAnswer(`${name})=1=2`, `${name}!=5`), false);
  }
});

Deno.test("isSameAnswer() reads a name of up to 20 parts, with an index of up to 8 letters in each", () => {
  for (
    const name of ["A".repeat(20), "V_1:V_2", "|A \\cup B|", "A_1234567_8", "A_{12345678}", "_".repeat(180)]
  ) {
    assertEquals(isQuantityName(name), true, name);
  }
  for (const name of ["A".repeat(21), "A_123456789", "A_", "_".repeat(181), ""]) {
    assertEquals(isQuantityName(name), false, name);
  }
  assertEquals(isSameAnswer("|AB|:|CD|_1 = 5", "5"), true);
});

Deno.test("exact numbers stay exact as long as they are small", () => {
  const third = invert(exactOf("3"));
  assertEquals(isEqual(multiply(third, exactOf("3")), exactOf("1")), true);
  assertEquals(isEqual(add(exactOf("0.1"), exactOf("0.2")), exactOf("0.3")), true);
  assertEquals(
    isEqual(raise(exactOf("10"), exactOf("30")), add(raise(exactOf("10"), exactOf("30")), exactOf("1"))),
    false,
  );
  assertEquals(isEqual(raise(exactOf("2"), negate(exactOf("2"))), exactOf("0.25")), true);
  assertEquals(floatOf(raise(exactOf("2"), exactOf("0.5"))), Math.SQRT2);
  assertEquals(floatOf(factorial(exactOf("5"))), 120);
});

Deno.test("exact numbers are unknown where they are undefined", () => {
  for (
    const none of [invert(exactOf("0")), invert(0), factorial(exactOf("1.5")), factorial(exactOf("171"))]
  ) {
    assertEquals([Number.isNaN(none), isEqual(none, none)], [true, false]);
  }
  assertEquals(
    isEqual(raise(exactOf("9"), exactOf("1000000")), raise(exactOf("9"), exactOf("1000000"))),
    false,
  );
});
