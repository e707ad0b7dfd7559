import { assertEquals } from "@std/assert";
import { findFinalText } from "../../../src/envs/rlm/final_text.ts";

const CASES: readonly (readonly [reply: string, found: ReturnType<typeof findFinalText>])[] = [
  ["no answer", undefined],
  ["FINAL(42)", { text: "42" }],
  ["So:\n  FINAL(f(3) = 9)", { text: "f(3) = 9" }],
  ["FINAL((1, (2, 3)))", { text: "(1, (2, 3))" }],
  ["FINAL(first)\nFINAL(last)", { text: "last" }],
  ["say FINAL(x) at the end", undefined],
  ["FINAL(on\ntwo lines)", { text: "on\ntwo lines" }],
  ["FINAL(no end (at all", { text: "no end (at all" }],
  ["FINAL_VAR(found)", { variable: "found" }],
  ["FINAL_VAR('found')", { variable: "found" }],
  ['FINAL_VAR( "größe" )', { variable: "größe" }],
  ["FINAL_VAR(not a name)", { text: "not a name" }],
];

for (const [reply, found] of CASES) {
  Deno.test(`findFinalText(${JSON.stringify(reply)})`, () => assertEquals(findFinalText(reply), found));
}
