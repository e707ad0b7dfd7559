import { assertEquals } from "@std/assert";
import {
  countCapitalWords,
  countWords,
  isLowerCase,
  isUpperCase,
} from "../../../src/rewards/ifeval/words.ts";

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
