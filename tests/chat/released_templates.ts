import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Tokenizer } from "../../src/chat/tokenizer.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";

const FOLDER = fileURLToPath(new URL("../../.paddock/released_templates", import.meta.url));
const FOLDERS = ["trl/chat_templates", "axolotl/utils/chat_templates/templates"];

/** A chat template of a released model, and the tokenizer with which it is played: bytes, and the template's control tokens. */
export interface ReleasedTemplate {
  /** Package and file, such as `trl/qwen3`. */
  readonly name: string;
  readonly source: string;
  readonly tokenizer: Tokenizer;
}

/** Reads the templates of TRL and axolotl, whose wheels pip installs at the first call, by their hashes. */
export async function releasedTemplates(): Promise<ReleasedTemplate[]> {
  await install();
  const templates: ReleasedTemplate[] = [];
  for (const folder of FOLDERS) {
    const names = (await Array.fromAsync(Deno.readDir(join(FOLDER, folder)))).map(({ name }) => name);
    for (const file of names.filter((name) => name.endsWith(".jinja")).sort()) {
      const source = (await Deno.readTextFile(join(FOLDER, folder, file))).replaceAll("\r\n", "\n");
      const name = `${folder.split("/")[0]}/${file.replace(".jinja", "")}`;
      templates.push({ name, source, tokenizer: tokenizerOf(name, source) });
    }
  }
  return templates;
}

async function install(): Promise<void> {
  if (await Deno.stat(join(FOLDER, "axolotl")).then(() => true, () => false)) return;
  const requirements = fileURLToPath(new URL("released_templates.txt", import.meta.url));
  const options = ["--quiet", "--require-hashes", "--no-deps", "--target", FOLDER, "-r", requirements];
  const { success, stderr } = await new Deno.Command("python3", {
    args: ["-m", "pip", "install", ...options],
  })
    .output();
  if (!success) {
    throw new Error(`Cannot install the wheels of TRL and axolotl: ${new TextDecoder().decode(stderr)}`);
  }
}

/** Texts that are control tokens in the vocabularies of released models. */
const CONTROL_TOKENS = new RegExp(
  [
    String.raw`<[|｜][^<>|｜\n]{1,40}[|｜]>`, // <|im_end|>, <｜Assistant｜>
    String.raw`<\|"\|>|<\|[a-z_]+>(?!\|)|<[a-z_]+\|>`, // <|turn>, <turn|>
    String.raw`<(?:start_of_turn|end_of_turn|bos|eos|sop)>|<\/?s>`,
    String.raw`\[\/?(?:INST|gMASK|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT|ARGS|CALL_ID)\]`,
  ].join("|"),
  "g",
);

function tokenizerOf(name: string, source: string): Tokenizer {
  const [bosToken, eosToken] = ["<|bos|>", "<|endoftext|>"];
  const controls = source.match(CONTROL_TOKENS) ?? [];
  const specialTokens = [...new Set([...controls, eosToken, bosToken])];
  return { ...byteTokenizer({ specialTokens, chatTemplate: source }), name, bosToken, eosToken };
}
