import { assertEquals, assertStringIncludes } from "@std/assert";
import { escapeControls, escapeJsonControls, escapeLine } from "../src/terminal_text.ts";
import { runPaddock } from "./cli/run_paddock.ts";
import { TempFolder } from "./temp_folder.ts";
import { rowOf } from "./viewer/saved_rows.ts";

Deno.test("escapeControls() escapes what could change a terminal, and keeps newlines and tabs", () => {
  assertEquals(escapeControls("\x1b[2J\x07\r\n\t\x9b\u202eé"), "\\x1b[2J\\x07\\x0d\n\t\\x9b\\u202eé");
  assertEquals(escapeControls("\u061c\u2028\u2029"), "\\u061c\\u2028\\u2029");
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

Deno.test("paddock escapes control characters of tracebacks and reasons in what it prints of saved episodes", async () => {
  const traceback = "Traceback:\n  raise E('\x1b]52;c;aGk=\x07')\nE: \x9b2J\u202e\u2028\n";
  const call = { turn: 1, call: 1, tool: "python", status: "error", durationMs: 1, text: traceback };
  const row = {
    messages: [{ role: "user", content: "q" }, { role: "assistant", content: "a" }, {
      role: "tool",
      content: traceback,
    }],
    toolResults: [call],
    unscored: traceback,
    reward: null,
  };
  const failed = {
    ...row,
    error: { boundary: "env", name: "EnvError", message: traceback },
    unscored: undefined,
  };
  await using folder = await TempFolder.of({ "a.jsonl": `${rowOf(row)}\n${rowOf(failed)}\n` });
  const path = folder.file("a.jsonl").hostPath;
  for (
    const args of [["view", path], ["grade", path, "--grader", "exact_match"], [
      "grade",
      path,
      "--grader",
      "exact_match",
      "--json",
    ]]
  ) {
    const { stdout, stderr } = await runPaddock(args);
    assertEquals(escapeControls(stdout + stderr), stdout + stderr, args.join(" "));
    assertStringIncludes(stdout, args.includes("--json") ? "u001b]52" : "x1b]52");
  }
});
