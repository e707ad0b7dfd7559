import { assertEquals } from "@std/assert";
import { loadTokenizer } from "../../src/chat/load_tokenizer.ts";
import { flaggedTokenizers, type TokenizerFiles, writeTokenizer } from "./flagged_tokenizers.ts";

/** What Python's tokenizers 0.23.3 gave; `tokenizer_oracle.py` wrote it. */
interface Recorded {
  readonly texts: readonly string[];
  readonly encoded: readonly number[][];
  readonly ids: readonly number[][];
  readonly decoded: readonly string[];
}

const FILE = new URL("../goldens/flagged_tokenizers.json", import.meta.url);
const recorded: Readonly<Record<string, Recorded>> = JSON.parse(await Deno.readTextFile(FILE));

async function load(files: TokenizerFiles) {
  const folder = await Deno.makeTempDir();
  try {
    await writeTokenizer(files, folder);
    return await loadTokenizer(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const [name, files] of Object.entries(flaggedTokenizers())) {
  Deno.test(`loadTokenizer() encodes and decodes as Python's tokenizers with flagged tokens: ${name}`, async () => {
    const tokenizer = await load(files);
    const { texts = [], encoded, ids = [], decoded } = recorded[name] ?? {};
    assertEquals(
      texts.map((text) => [text, tokenizer.encode(text)]),
      texts.map((text, at) => [text, encoded?.[at]]),
    );
    assertEquals(
      ids.map((list) => [list, tokenizer.decode(list)]),
      ids.map((list, at) => [list, decoded?.[at]]),
    );
  });
}

Deno.test("loadTokenizer() finds a token with `single_word` only between other characters than letters and digits", async () => {
  const files = flaggedTokenizers()["byte fallback, never"];
  const tokenizer = await load(files ?? { tokenizer: {}, config: {} });
  const [word] = tokenizer.encode("word");
  const counts = ["word", "a word.", "xword", "words", "word_", "é-word", "𝒳word", "word\ufeff"].map((text) =>
    tokenizer.encode(text).filter((id) => id === word).length
  );
  assertEquals(counts, [1, 1, 0, 0, 0, 1, 0, 1]);
});
