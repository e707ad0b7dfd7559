import { assertEquals } from "@std/assert";
import { RunningLog } from "../../../src/server/mcp/output_log.ts";

Deno.test("RunningLog joins pieces into lines for each stream", async () => {
  const lines: string[] = [];
  const log = new RunningLog((stream, line) => {
    lines.push(`${stream}: ${line}`);
    return Promise.reject(new Error("the client has disconnected"));
  });
  log.write("stdout", "a");
  log.write("stderr", "x\ny");
  log.write("stdout", "b\n\nc");
  await log.end();
  assertEquals(lines, ["stderr: x", "stdout: ab", "stdout: ", "stdout: c", "stderr: y"]);
});

Deno.test("RunningLog limits the number of lines", async () => {
  let lines = 0;
  const log = new RunningLog(() => {
    lines++;
    return Promise.resolve();
  });
  log.write("stdout", "\n".repeat(1_000_000));
  await log.end();
  assertEquals(lines, 10_000);
});
