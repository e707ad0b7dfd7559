import { assertEquals } from "@std/assert";

/** Reads a file in a process with a heap of 128 MB and returns the number of its tasks. */
async function countInSmallHeap(path: string): Promise<string> {
  const program = `import { readDataset } from "./src/datasets/read_dataset.ts";
    let count = 0;
    for await (const _ of readDataset(Deno.args[0] ?? "", { shuffle: true, seed: 1 })) count++;
    console.log(count);`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--v8-flags=--max-old-space-size=128", program, path],
    cwd: new URL("../../", import.meta.url),
  }).output();
  return new TextDecoder().decode(stdout).trim();
}

Deno.test("readDataset() shuffles a file of a million rows (220 MB) in a heap of 128 MB", async () => {
  const path = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    const row = `${JSON.stringify({ query: "?", pad: "x".repeat(200) })}\n`;
    const chunk = row.repeat(10_000);
    for (let n = 0; n < 100; n++) await Deno.writeTextFile(path, chunk, { append: true });
    assertEquals(await countInSmallHeap(path), "1000000");
  } finally {
    await Deno.remove(path);
  }
});
