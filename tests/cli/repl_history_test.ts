import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { ReplHistory } from "../../src/cli/repl_history.ts";

Deno.test("ReplHistory keeps lines in a file that is its owner's", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = join(directory, "cache", "repl_history");
    const history = await ReplHistory.load(path);
    assertEquals(history.lines, []);
    await Promise.all(["x = 1", "  "].map((line) => history.add(line)));
    await history.add("x");
    assertEquals((await ReplHistory.load(path)).lines, ["x", "x = 1"]);
    assertEquals((await Deno.stat(path)).mode ?? 0, 0o100600);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("ReplHistory.load() shortens a file that has grown long", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, Array.from({ length: 2001 }, (_, line) => `${line}\n`).join(""));
    assertEquals((await ReplHistory.load(path)).lines.length, 1000);
    assertEquals((await Deno.readTextFile(path)).split("\n")[0], "1001");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("ReplHistory.add() does without a file where there can be none", async () => {
  const history = await ReplHistory.load("/dev/null/repl_history");
  await history.add("x");
  assertEquals(history.lines, []);
});
