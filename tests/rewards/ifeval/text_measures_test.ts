import { assertEquals } from "@std/assert";
import { looseVariantsOf } from "../../../src/rewards/ifeval.ts";
import {
  countCapitalWords,
  countSentences,
  countWords,
  isLowerCase,
  isUpperCase,
} from "../../../src/rewards/ifeval/sentences.ts";
import { HANG_MS } from "../../deadline.ts";

const COUNTS: readonly (readonly [string, number])[] = [
  ["", 0],
  [" \n ", 0],
  ["no full stop", 1],
  ["One. Two? Three! four", 4],
  ["Dr. and Mrs. Smith met J. R. Brown at 5 p.m. in St. Louis.", 1],
  ["He lives in the U.S. The weather is fine.", 2],
  ["He works for Acme Inc. and likes it.", 1],
  ["It costs $3.50, i.e. little, e.g. less than 4.25 euros.", 1],
  ["Really?! Yes... no. Well... so be it.", 3],
  ['"Stop!" He ran. (It was late.) Then he slept.', 4],
  ["**Bold claim.** Next one.", 2],
  ["See example.com for more.", 1],
  ["a list:\n- one\n- two", 1],
  ["1. First thing. 2. Second thing.", 4],
  ["One.Two", 1],
  ['"It ends here. "', 1],
  ["It ends here.\n***", 1],
  ["He came at 5 p.m.\n* then he left", 1],
  ["Wait...what?!no.", 1],
  ['He said ".a" and "b?c".', 1],
  ["I said no. He chose No. 5 instead.", 2],
  ["我去了。你呢？", 2],
  ["यह एक वाक्य है। यह दूसरा है।", 2],
];

for (const [text, sentences] of COUNTS) {
  Deno.test(`countSentences() counts ${sentences} in ${JSON.stringify(text)}`, () => {
    assertEquals(countSentences(text), sentences);
  });
}

Deno.test({
  name: "countSentences() reads texts with many marks in linear time",
  timeout: HANG_MS,
}, () => {
  const length = 1_000_000;
  const hard: readonly (readonly [string, number])[] = [
    [".".repeat(length) + "x", 1],
    [`Well${".".repeat(40)}ok `.repeat(length / 40), 1],
    [`.${'"'.repeat(length)}x`, 1],
    ["Mr. ".repeat(length / 10), 1],
    ["B. ".repeat(length / 10), 1],
    ["... a".repeat(length / 10), 1],
  ];
  for (const [text, sentences] of hard) assertEquals(countSentences(text), sentences, text.slice(0, 50));
});

Deno.test("countWords() counts runs of letters, digits and underscores", () => {
  assertEquals(countWords(""), 0);
  assertEquals(countWords("हिन्दी भाषा"), 2);
  assertEquals(countWords("It's a well-known fact_1, naïve Ärger 42!"), 9);
});

Deno.test("countCapitalWords() counts words in capitals", () => {
  const counts = [["I am A B-52 PILOT.", 4], ["IT'S", 2], ["IT's", 1], ["DON'T", 2], ["CANNOT", 2], [
    "**BOLD**",
    1,
  ]];
  for (const [text, count] of [...counts, ["U.S.A., USA;NATO (UN)", 4], ["Mixed 123", 0], ["ÄRGER ß", 1]]) {
    assertEquals(countCapitalWords(`${text}`), count, `${text}`);
  }
});

Deno.test("isUpperCase() and isLowerCase() need letters of one case only", () => {
  assertEquals([isUpperCase("A1!"), isUpperCase("Aa"), isUpperCase("1"), isUpperCase("ǅ")], [
    true,
    false,
    false,
    false,
  ]);
  assertEquals([isLowerCase("a1!"), isLowerCase("Aa"), isLowerCase("1"), isLowerCase("ß")], [
    true,
    false,
    false,
    true,
  ]);
});

Deno.test("looseVariantsOf() returns eight variants of a response", () => {
  assertEquals(looseVariantsOf("Sure:\n\n*one*\n\nBye"), [
    "Sure:\n\n*one*\n\nBye",
    "*one*\n\nBye",
    "Sure:\n\n*one*",
    "*one*",
    "Sure:\n\none\n\nBye",
    "one\n\nBye",
    "Sure:\n\none",
    "one",
  ]);
  assertEquals(looseVariantsOf("one"), ["one", "", "", "", "one", "", "", ""]);
});
