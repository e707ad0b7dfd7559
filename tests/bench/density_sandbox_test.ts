import { assertEquals } from "@std/assert";
import { runDensity } from "../../bench/density_rows.ts";

Deno.test("a server keeps the state of each session when a process has several", async () => {
  const { right, processes, execMs } = await runDensity({ sessions: 12, sessionsPerProcess: 8 });
  assertEquals([right, execMs.length], [12, 12]);
  if (Deno.build.os === "linux") assertEquals(processes, 2);
});
