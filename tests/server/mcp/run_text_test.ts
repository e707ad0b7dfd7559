import { assertEquals } from "@std/assert";
import { runText } from "../../../src/server/mcp/run_text.ts";
import { HANG_MS } from "../../deadline.ts";

const ran = {
  status: "ok",
  stdout: "",
  stderr: "",
  durationMs: 1,
  stateKept: true,
  truncated: false,
} as const;

Deno.test("runText() leaves out missing and empty parts", () => {
  assertEquals(runText(ran, ""), "<status>success</status>");
  assertEquals(runText({ ...ran, value: "''" }, ""), "<status>success</status>");
});

Deno.test("runText() escapes only tags of its own element", () => {
  const text = runText(ran, "<b> </output> < /Output\n<output x='1'> <output\n");
  assertEquals(
    text,
    "<status>success</status>\n<output>\n<b> &lt;/output&gt; < /Output\n&lt;output x='1'&gt; &lt;output\n</output>",
  );
});

Deno.test({ name: "runText() takes linear time for many incomplete tags", timeout: HANG_MS }, () => {
  const text = runText(ran, "<output".repeat(1_000_000));
  assertEquals(text.includes("<output<"), false);
});
