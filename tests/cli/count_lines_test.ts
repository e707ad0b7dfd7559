import { assertEquals } from "@std/assert";
import { countLines } from "../../src/cli/count_lines.ts";

Deno.test("countLines() counts the last line too, up to a limit, and no pipe", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "a\nb\nc");
    assertEquals([await countLines(path), await countLines(path, 2)], [3, 2]);
    await Deno.writeTextFile(path, "a\nb\n");
    assertEquals(await countLines(path), 2);
    assertEquals(await countLines("/dev/null"), undefined);
  } finally {
    await Deno.remove(path);
  }
});
