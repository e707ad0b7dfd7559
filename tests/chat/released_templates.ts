import { glob } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Tokenizer } from "../../src/chat/tokenizer.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import type { TemplatePackages } from "./template_packages.ts";

/** A chat template of a released model, and the tokenizer with which it is played: bytes, and the template's control tokens. */
export interface ReleasedTemplate {
  /** Package and file, such as `trl: qwen3`, or the file alone. */
  readonly name: string;
  readonly source: string;
  readonly tokenizer: Tokenizer;
}

/** Reads the templates of TRL and axolotl. */
export async function releasedTemplates({ folders }: TemplatePackages): Promise<ReleasedTemplate[]> {
  const read = [...folders].map(([name, folder]) => readTemplates(folder, `${name}: `));
  return (await Promise.all(read)).flat();
}

/** Reads the templates of the folder that the variable PADDOCK_TEMPLATES names, if it is set. */
export async function furtherTemplates(): Promise<ReleasedTemplate[]> {
  const folder = Deno.env.get("PADDOCK_TEMPLATES");
  return folder === undefined ? [] : await readTemplates(folder);
}

async function readTemplates(folder: string, prefix = ""): Promise<ReleasedTemplate[]> {
  const paths = (await Array.fromAsync(glob("**/*.jinja", { cwd: folder }))).sort();
  return await Promise.all(paths.map(async (path) => {
    const source = await Deno.readTextFile(join(folder, path));
    const name = `${prefix}${basename(path, ".jinja")}`;
    return { name, source, tokenizer: tokenizerOf(name, source) };
  }));
}

/** Texts that are control tokens in the vocabularies of released models. */
const CONTROL_TOKENS = new RegExp(
  [
    String.raw`<[|｜][^<>|｜\n]{1,40}[|｜]>`, // <|im_end|>, <｜Assistant｜>
    String.raw`<\|"\|>|<\|[a-z_]+>(?!\|)|<[a-z_]+\|>`, // <|turn>, <turn|>
    String.raw`<(?:start_of_turn|end_of_turn|bos|eos|sop)>|<\/?s>`,
    String.raw`\]~!b\[|\]~b\]|\[e~\[`, // MiniMax
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
