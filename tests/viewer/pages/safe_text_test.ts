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

Deno.test("plainLabel() shows the codes of characters that are not visible, and leaves words and emoji", () => {
  const codes: Readonly<Record<string, string>> = {
    "\u00ad": "\\xad",
    "\u034f": "\\u034f",
    "\u115f": "\\u115f",
    "\u180e": "\\u180e",
    "\u200b": "\\u200b",
    "\u206f": "\\u206f",
    "\u3164": "\\u3164",
    "\ufe00": "\\ufe00",
    "\u{1d173}": "\\u{1d173}",
    "\u{e0100}": "\\u{e0100}",
    "\u200d\ufe0f\u200d": "\\u200d\\ufe0f\\u200d",
  };
  for (const [hidden, code] of Object.entries(codes)) assertEquals(plainLabel(`a${hidden}b`), `a${code}b`);
  const visible = "नमस्\u200dते می\u200cخواهم 👩\u200d🔬 ❤\ufe0f\u200d🔥 é ü 한글";
  assertEquals(plainLabel(visible), visible);
});
