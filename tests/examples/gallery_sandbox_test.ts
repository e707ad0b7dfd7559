import { assertEquals } from "@std/assert";
import { PAGE, readCode, readExamples, runExample, writeExample } from "../../scripts/gallery.ts";

const examples = readExamples(await Deno.readTextFile(PAGE));
/** Needs packages that are downloaded; `deno task packages` runs it. */
const NEEDS_NETWORK = "z3_solver";
const MAX_LINES = 60;

Deno.test("docs/gallery.md has each example of examples/gallery, with its code", async () => {
  const files = await Array.fromAsync(Deno.readDir(new URL("../../examples/gallery", import.meta.url)));
  const names = examples.map(({ name }) => name);
  assertEquals([...names].sort(), files.map(({ name }) => name.replace(/\.ts$/, "")).sort());
  for (const { name, code, output } of examples) {
    assertEquals(code, await readCode(name), `${name}: run deno task gallery`);
    assertEquals(code.split("\n").length < MAX_LINES, true, name);
    assertEquals(output.length > 0, true, name);
  }
});

for (const { name, output } of examples) {
  Deno.test({
    name: `the example ${name} of the gallery prints what docs/gallery.md shows`,
    ignore: name === NEEDS_NETWORK,
    fn: async () => assertEquals(await runExample(name), output),
  });
}

Deno.test("writeExample() changes the blocks of one example only", () => {
  const page = "# G\n\n[`a.ts`](../examples/gallery/a.ts)\n\n[`b.ts`](../examples/gallery/b.ts)\n\nEnd\n";
  const first = writeExample(page, { name: "b", code: "1;\n", output: "x\n" });
  const second = writeExample(first, { name: "b", code: "2;\n", output: "$&\n" });
  assertEquals(readExamples(second), [
    { name: "a", code: "", output: "" },
    { name: "b", code: "2;\n", output: "$&\n" },
  ]);
  assertEquals(second.endsWith("\nEnd\n"), true);
});
