import { assertEquals, assertRejects } from "@std/assert";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { basename } from "node:path";
import { countTasks, readProgram, readText } from "../../src/cli/input.ts";

Deno.test("countTasks() counts an unfinished last line, stops at a limit, and reads no pipe and no compressed file", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "a\nb\nc");
    assertEquals([await countTasks(path), await countTasks(path, 2)], [3, 2]);
    await Deno.writeTextFile(path, "a\nb\n");
    assertEquals(await countTasks(path), 2);
    assertEquals(await countTasks("/dev/null"), undefined);
    assertEquals(await countTasks("tasks.jsonl.gz"), undefined);
  } finally {
    await Deno.remove(path);
  }
});

async function withFile(contents: Uint8Array | string, work: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, typeof contents === "string" ? new TextEncoder().encode(contents) : contents);
    await work(path);
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("readProgram() reads a program from an option or a file", async () => {
  assertEquals(await readProgram({ code: "1", words: [], isTerminal: true }), { code: "1" });
  await withFile("é = 1\n", async (file) => {
    assertEquals(await readProgram({ words: [file, "-e", "é"], isTerminal: true }), {
      code: "é = 1\n",
      argv: [basename(file), "-e", "é"],
    });
    assertEquals(await readProgram({ code: "1", words: [], stdin: file, isTerminal: true }), {
      code: "1",
      stdin: "é = 1\n",
    });
  });
});

Deno.test("readProgram() does not read stdin when the program cannot use it", async () => {
  for (const code of ["print(1)", "user_input = 3", "input_data = [1]", "inputs = open('a').read()"]) {
    assertEquals(await readProgram({ code, words: [], isTerminal: false }), { code });
  }
});

Deno.test("readProgram() throws for none or two programs, and for two uses of stdin", async () => {
  for (
    const source of [
      { words: [] },
      { code: "1", words: ["x.py"] },
      { code: "1", module: "json", words: [] },
      { words: ["-"], stdin: "-" },
    ]
  ) {
    await assertRejects(() => readProgram({ ...source, isTerminal: true }), UsageError, "program");
  }
});

Deno.test("readProgram() names -e if the path of a missing file looks like a program", async () => {
  const read = (word: string) =>
    assertRejects(() => readProgram({ words: [word], isTerminal: true }), UsageError);
  const { message } = await read("print(6 * 7)");
  assertEquals(message, "Cannot read 'print(6 * 7)': there is no such file; -e CODE runs a text");
  assertEquals((await read("no/such.py")).message, "Cannot read 'no/such.py': there is no such file");
});

Deno.test("readText() names the problem of a file in its error", async () => {
  const maxBytes = 8;
  await assertRejects(() => readText("no/such.py", { maxBytes }), UsageError, "there is no such file");
  await assertRejects(() => readText(Deno.cwd(), { maxBytes }), UsageError, "it is a directory");
  await withFile(new Uint8Array([0xff, 0xfe]), async (path) => {
    await assertRejects(() => readText(path, { maxBytes }), UsageError, "must be UTF-8");
  });
  await withFile("123456789", async (path) => {
    await assertRejects(() => readText(path, { maxBytes }), UsageError, "at most 8 bytes");
  });
});
