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

Deno.test("runText() leaves out what there is not, and an empty text", () => {
  assertEquals(runText(ran, ""), "<status>success</status>");
  assertEquals(runText({ ...ran, value: "''" }, ""), "<status>success</status>");
});

Deno.test("runText() makes tags of the element harmless, and no others", () => {
  const text = runText(ran, "<b> </output> < /Output\n<output x='1'> <output\n");
  assertEquals(
    text,
    "<status>success</status>\n<output>\n<b> &lt;/output&gt; < /Output\n&lt;output x='1'&gt; &lt;output\n</output>",
  );
});

Deno.test({ name: "runText() reads a text of nothing but beginnings of tags once", timeout: HANG_MS }, () => {
  const text = runText(ran, "<output".repeat(1_000_000));
  assertEquals(text.includes("<output<"), false);
});
