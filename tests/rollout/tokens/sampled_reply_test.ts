import { assertEquals } from "@std/assert";
import { textsEquivalent } from "../../../src/rollout/tokens/sampled_reply.ts";

Deno.test("textsEquivalent() ignores the changes that tokenizers make, and no others", () => {
  const specials = ["", "<s>", "</s>", "[INST]"];
  const pairs: [string, string, boolean][] = [
    ["e\u0301", "é", true],
    ["\ud83d", "\ufffd", true],
    ["<s>[INST] q</s>a", "<s> [INST]  q</s> a", true],
    ["q", " q", true],
    ["q r", "q  r", false],
    ["<x>q", "<x> q", false],
    ["q", "r", false],
  ];
  for (const [one, other, same] of pairs) {
    assertEquals(textsEquivalent(one, other, specials), same, `${one}|${other}`);
  }
});
