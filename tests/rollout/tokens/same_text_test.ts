import { assertEquals } from "@std/assert";
import { sameText } from "../../../src/rollout/tokens/same_text.ts";

Deno.test("sameText() ignores the changes that tokenizers make, and no others", () => {
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
    assertEquals(sameText(one, other, specials), same, `${one}|${other}`);
  }
});
