import { assertEquals } from "@std/assert";
import { RunningLog } from "../../../src/server/mcp/output_log.ts";

Deno.test("RunningLog tells lines that come in pieces, of each stream by itself", async () => {
  const told: string[] = [];
  const log = new RunningLog((stream, line) => {
    told.push(`${stream}: ${line}`);
    return Promise.reject(new Error("nobody listens any more"));
  });
  log.write("stdout", "a");
  log.write("stderr", "x\ny");
  log.write("stdout", "b\n\nc");
  await log.end();
  assertEquals(told, ["stderr: x", "stdout: ab", "stdout: ", "stdout: c", "stderr: y"]);
});

Deno.test("RunningLog tells a flood of lines no further than its limit", async () => {
  let lines = 0;
  const log = new RunningLog(() => {
    lines++;
    return Promise.resolve();
  });
  log.write("stdout", "\n".repeat(1_000_000));
  await log.end();
  assertEquals(lines, 10_000);
});
