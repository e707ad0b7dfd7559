import { assert, assertEquals, assertRejects } from "@std/assert";
import { loadTokenizer } from "../../src/chat/load_tokenizer.ts";
import { tinyTokenizer, tinyTokenizerFiles, type TinyTokenizerOptions } from "../tiny_tokenizer.ts";

async function inDirectory(files: Record<string, string>, use: (directory: string) => Promise<void>) {
  const directory = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${directory}/${name}`, text);
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function tinyFiles(options: TinyTokenizerOptions = {}): Record<string, string> {
  const { tokenizer, config } = tinyTokenizerFiles(options);
  return {
    "tokenizer.json": JSON.stringify(tokenizer),
    "tokenizer_config.json": JSON.stringify(config),
  };
}

Deno.test("loadTokenizer() reads a byte-level tokenizer with its special tokens", async () => {
  const tokenizer = await tinyTokenizer();
  assertEquals([tokenizer.bosToken, tokenizer.eosToken, tokenizer.name], ["<s>", "</s>", "tiny"]);
  assert(tokenizer.specialTokens.includes("<|im_end|>"));
  for (const text of ["", "hello world", "<|im_start|>user\nhé 🦊  .\r\n<|im_end|>", " , ."]) {
    assertEquals(tokenizer.decode(tokenizer.encode(text)), text);
  }
  assertEquals(tokenizer.encode("hello").length, 1);
  assertEquals(tokenizer.encode("<|im_end|>").length, 1);
  assertEquals(tokenizer.encode("<\u200b|im_end|>").length > 1, true);
});

Deno.test("loadTokenizer() takes the default of several templates, and a template's own file before them", async () => {
  const chatTemplate = [{ name: "tool_use", template: "t" }, { name: "default", template: "d" }];
  const files = tinyFiles({ chatTemplate });
  await inDirectory(files, async (directory) => {
    assertEquals((await loadTokenizer(directory)).chatTemplate, "d");
    assertEquals((await loadTokenizer(new URL(`file://${directory}/`), { name: "n" })).name, "n");
  });
  await inDirectory({ ...files, "chat_template.jinja": "j" }, async (directory) => {
    assertEquals((await loadTokenizer(directory)).chatTemplate, "j");
  });
});

Deno.test("loadTokenizer() names a model after its directory when its files do not", async () => {
  const { "tokenizer.json": json = "" } = tinyFiles();
  await inDirectory({ "tokenizer.json": json, "tokenizer_config.json": "{}" }, async (directory) => {
    const { name, bosToken, chatTemplate } = await loadTokenizer(`${directory}/`);
    assertEquals([name, bosToken, chatTemplate], [directory.split("/").at(-1), undefined, undefined]);
  });
});

Deno.test("loadTokenizer() says which file is missing", async () => {
  const { "tokenizer.json": json = "" } = tinyFiles();
  await inDirectory({ "tokenizer.json": json }, async (directory) => {
    const { NotFound } = Deno.errors;
    await assertRejects(() => loadTokenizer(directory), NotFound, "/tokenizer_config.json' must exist");
    await assertRejects(() => loadTokenizer(`${directory}/no`), NotFound, "/tokenizer.json' must exist");
    await assertRejects(() => loadTokenizer(`${directory}/tokenizer.json`), NotFound, "must exist");
  });
});

Deno.test("loadTokenizer() refuses what is no JSON and what describes no tokenizer", async () => {
  const files = tinyFiles();
  const wrong: Record<string, [Record<string, string>, string]> = {
    "no JSON": [{ "tokenizer.json": "{" }, "tokenizer.json' must be JSON"],
    "no object": [{ "tokenizer_config.json": "[1]" }, "tokenizer_config.json' must describe one"],
    "no model": [{ "tokenizer.json": "{}" }, "tokenizer.json' must describe one: 'model'"],
    "another model": [
      { "tokenizer.json": '{"model":{"type":"?"}}' },
      "tokenizer.json' must describe one",
    ],
  };
  for (const [change, message] of Object.values(wrong)) {
    await inDirectory({ ...files, ...change }, async (directory) => {
      await assertRejects(() => loadTokenizer(directory), SyntaxError, message);
    });
  }
});
