import { assertEquals } from "@std/assert";
import { plainLabel, splitFences } from "../../../src/viewer/pages/safe_text.tsx";

Deno.test("splitFences() separates prose and code", () => {
  assertEquals(splitFences("a\n```python\nx\n```\nb"), [
    { text: "a" },
    { text: "x", language: "python" },
    { text: "b" },
  ]);
});

Deno.test("splitFences() keeps shorter fences within a longer one, and code that is not closed", () => {
  assertEquals(splitFences("````\n```\nx"), [{ text: "```\nx", language: "" }]);
});

Deno.test("plainLabel() has one line without hidden characters", () => {
  assertEquals(plainLabel("a\nb\u202e\x07"), "a b\\u202e\\x07");
  assertEquals(plainLabel("abc", 2), "ab…");
});
