import { assertEquals, assertStringIncludes } from "@std/assert";
import { escapeControls, escapeJsonControls, escapeLine } from "../src/terminal_text.ts";
import { runPaddock } from "./cli/run_paddock.ts";

Deno.test("escapeControls() escapes what could change a terminal, and keeps newlines and tabs", () => {
  assertEquals(escapeControls("\x1b[2J\x07\r\n\t\x9b\u202eé"), "\\x1b[2J\\x07\\x0d\n\t\\x9b\\u202eé");
  assertEquals(escapeLine("\x1b\n\t"), "\\x1b\\n\\t");
});

Deno.test("escapeJsonControls() returns the same JSON without control characters", () => {
  const value = { "\x9b31m": "\x1b\x7f\u202e\\x9b" };
  const json = escapeJsonControls(JSON.stringify(value));
  assertEquals(JSON.parse(json), value);
  assertEquals(escapeControls(json), json);
});

Deno.test("paddock escapes control characters of an unknown argument", async () => {
  for (const args of [["exec", "--\x1b[2J"], ["\x1b[2J"], ["view", "a", "--limit", "\x1b[2J"]]) {
    const { code, stderr } = await runPaddock(args);
    assertEquals(code, 2);
    assertStringIncludes(stderr, "\\x1b[2J");
    assertEquals(escapeControls(stderr), stderr);
  }
});
