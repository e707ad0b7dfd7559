import { assertEquals } from "@std/assert";
import { glob } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { MAX_TIMEOUT_MS, MAX_TIMEOUT_SECONDS } from "../../src/wire/limits.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

Deno.test("the longest timeout of a request is one hour, in milliseconds and in seconds", () => {
  assertEquals([MAX_TIMEOUT_MS, MAX_TIMEOUT_SECONDS], [3_600_000, 3_600]);
});

Deno.test("only limits.ts defines the longest timeout", async () => {
  const found: string[] = [];
  for await (const file of glob("src/{server,wire,client}/**/*.ts", { cwd: ROOT })) {
    const text = await Deno.readTextFile(`${ROOT}${file}`);
    if (/\b3_?600(_?000)?\b/.test(text) && !file.endsWith("/limits.ts")) found.push(file);
  }
  assertEquals(found, []);
});
