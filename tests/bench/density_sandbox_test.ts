import { assertEquals } from "@std/assert";
import { runDensity } from "../../bench/density_rows.ts";

Deno.test("a server with several sessions to a process keeps the state of each", async () => {
  const { right, processes, execMs } = await runDensity({ sessions: 12, sessionsPerProcess: 8 });
  assertEquals([right, execMs.length], [12, 12]);
  if (Deno.build.os === "linux") assertEquals(processes, 2);
});
