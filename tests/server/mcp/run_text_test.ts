import { assertEquals } from "@std/assert";
import { formatRun } from "../../../src/server/mcp/run_text.ts";
import { HANG_MS } from "../../deadline.ts";

const ran = {
  status: "ok",
  stdout: "",
  stderr: "",
  durationMs: 1,
  stateKept: true,
  truncated: false,
} as const;

Deno.test("formatRun() leaves out missing and empty parts", () => {
  assertEquals(formatRun(ran, ""), "<status>success</status>");
  assertEquals(formatRun({ ...ran, value: "''" }, ""), "<status>success</status>");
});

Deno.test("formatRun() escapes only tags of its own element", () => {
  const text = formatRun(ran, "<b> </output> < /Output\n<output x='1'> <output\n");
  assertEquals(
    text,
    "<status>success</status>\n<output>\n<b> &lt;/output&gt; < /Output\n&lt;output x='1'&gt; &lt;output\n</output>",
  );
});

Deno.test({ name: "runText() takes linear time for many incomplete tags", timeout: HANG_MS }, () => {
  const text = formatRun(ran, "<output".repeat(1_000_000));
  assertEquals(text.includes("<output<"), false);
});
