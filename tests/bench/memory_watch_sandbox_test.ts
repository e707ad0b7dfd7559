import { assertEquals } from "@std/assert";
import { MemoryWatch } from "../../bench/hostile/memory_watch.ts";

Deno.test("MemoryWatch reads the memory of a process", { ignore: Deno.build.os !== "linux" }, async () => {
  using memory = new MemoryWatch(Deno.pid, { killBytes: Infinity });
  const { host, tree } = await memory.restart();
  assertEquals([host > 10_000_000, tree >= host, memory.wasKilled], [true, true, false]);
});
