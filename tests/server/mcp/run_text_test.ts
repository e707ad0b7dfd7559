import { assertEquals } from "@std/assert";
import { runText } from "../../../src/server/mcp/run_text.ts";

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

Deno.test("runText() reads once through a text that is nothing but the beginnings of tags", () => {
  const startedAt = performance.now();
  const text = runText(ran, "<output".repeat(200_000));
  assertEquals(text.includes("<output<"), false);
  assertEquals(performance.now() - startedAt < 10_000, true);
});
