import { delay } from "@std/async";
import { GarbageCollector } from "../../src/server/garbage.ts";

Deno.test("GarbageCollector frees the memory of large requests that are over", async () => {
  using _collector = new GarbageCollector();
  const bytes = () => Deno.memoryUsage().heapUsed;
  const before = bytes();
  for (let count = 0; count < 6; count++) JSON.parse(`"${"a".repeat(30_000_000)}"`);
  while (bytes() > before + 96 * 1024 * 1024) await delay(50);
});
