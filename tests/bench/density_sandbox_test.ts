import { assertEquals } from "@std/assert";
import { runDensity } from "../../bench/density_rows.ts";

Deno.test("a server keeps the state of each session when a process has several", async () => {
  const { right, processes, execMs } = await runDensity({ sessions: 5, sessionsPerProcess: 3 });
  assertEquals([right, execMs.length], [5, 5]);
  if (Deno.build.os === "linux") assertEquals(processes, 2);
});
