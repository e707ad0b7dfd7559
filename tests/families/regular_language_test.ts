import { assertEquals } from "@std/assert";
import { Draw } from "../../src/families/draw.ts";
import { acceptsWord, isSameLanguage, parsePattern } from "../../src/families/regular_language.ts";

function parse(pattern: string) {
  const automaton = parsePattern(pattern);
  if (automaton === undefined) throw new Error(`no pattern: ${pattern}`);
  return automaton;
}

Deno.test("parsePattern() accepts the words that the host's engine matches", () => {
  const draw = new Draw(1);
  const atoms = ["a", "b", "\\d", "[a-c]", "[^b]", ".", "\\.", "[\\d_]", "x", "\\w", "[a-]", " "];
  const quantifiers = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"];
  const words = [
    "",
    "a",
    "b",
    "ab",
    "ba",
    "aab",
    "abb",
    "1",
    "a1",
    ".",
    "a.b",
    "_",
    "x",
    "xx",
    "cab",

    "-",
    "a b",
  ];
  const randomPattern = (depth: number): string =>
    Array.from({ length: draw.int(1, 3) }, () => {
      const inner = depth > 0 && draw.chance(0.4)
        ? `(${draw.pick(["", "?:"])}${randomPattern(depth - 1)}|${randomPattern(depth - 1)})`
        : draw.pick(atoms);
      return inner + draw.pick(quantifiers);
    }).join("");
  for (let count = 0; count < 300; count++) {
    const pattern = randomPattern(2);
    const [automaton, expression] = [parse(pattern), new RegExp(`^(?:${pattern})$`)];
    for (const word of words) {
      assertEquals(acceptsWord(automaton, word), expression.test(word), `${pattern} on '${word}'`);
    }
  }
});

const SAME = [
  ["(a|b)*", "(a*b*)*"],
  ["a{2,4}", "aa(a(a)?)?"],
  ["^\\d+$", "[0-9][0-9]*"],
  ["(ab)*a", "a(ba)*"],
] as const;

Deno.test("isSameLanguage() compares languages, not texts", () => {
  for (const [one, other] of SAME) assertEquals(isSameLanguage(parse(one), parse(other)), true, one);
  assertEquals(isSameLanguage(parse("(a|b)*"), parse("(a|b)+")), false);
  assertEquals(isSameLanguage(parse("a{63}"), parse("a{62}")), false);
  assertEquals(isSameLanguage(parse(".*"), parse("[ -~]*")), true);
});

Deno.test("isSameLanguage() gives up where the comparison is too large", () => {
  const one = parse("(a|b)*a(a|b){40}");
  const other = parse("(a|b)*a(a|b){40}|");
  assertEquals(isSameLanguage(one, parse("(b|a)*a(b|a){40}")), undefined);
  assertEquals(isSameLanguage(one, other), false);
});

Deno.test("parsePattern() refuses what describes no regular language, and what is too large", () => {
  const refused = [
    "(?=a)",
    "(?<n>a)",
    "\\1",
    "\\b",
    "a**",
    "(a",
    "a)",
    "[a",
    "a{3,1}",
    "a{99}",
    "*a",
    "é",
    "\\x41",
    "[b-a]",
  ];
  for (const pattern of refused) assertEquals(parsePattern(pattern), undefined, pattern);
  assertEquals(parsePattern("((((a{60}){60}){60}){60})"), undefined);
  assertEquals(parsePattern("(".repeat(2_000)), undefined);
});
