import { tinyTokenizerFiles } from "../tiny_tokenizer.ts";

/** The files of a tokenizer. */
export interface TokenizerFiles {
  readonly tokenizer: object;
  readonly config: object;
}

const FLAGS = [0, 1, 2, 4, 3, 5, 6, 7];

function flagsOf(bits: number): object {
  return { single_word: (bits & 1) > 0, lstrip: (bits & 2) > 0, rstrip: (bits & 4) > 0 };
}

/** Returns byte-level tokenizers whose added tokens have all combinations of flags, with and without normalizers. */
function byteLevelTokenizers(): Record<string, TokenizerFiles> {
  const variants = [null, "NFC", "NFKC", "Lowercase"].flatMap((type) =>
    [[type, false], [type, true]] as const
  );
  return Object.fromEntries(variants.map(([type, hasNormalized]) => {
    const { tokenizer, config } = tinyTokenizerFiles();
    const { length } = tokenizer.added_tokens;
    const first = tokenizer.added_tokens[0]?.id ?? 0;
    const special = tokenizer.added_tokens.map((token, at) => ({
      ...token,
      ...flagsOf(FLAGS[at % FLAGS.length] ?? 0),
      normalized: false,
    }));
    const words = ["hullo", "mask", "maskara", "[x]", "unit"].map((content, at) => ({
      id: first + length + at,
      content,
      ...flagsOf(FLAGS[(at * 3 + 1) % FLAGS.length] ?? 0),
      normalized: hasNormalized,
      special: at % 2 === 0,
    }));
    const files = { ...tokenizer, normalizer: type && { type }, added_tokens: [...special, ...words] };
    return [`${type ?? "none"}${hasNormalized ? ", normalized tokens" : ""}`, { tokenizer: files, config }];
  }));
}

/** Returns tokenizers with byte fallback, as those of Llama 2 and Gemma, and flags. */
function byteFallbackTokenizers(): Record<string, TokenizerFiles> {
  return Object.fromEntries(["first", "always", "never"].map((prepend_scheme) => {
    const bytes = Array.from(
      { length: 256 },
      (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
    );
    const pieces = ["<unk>", ...bytes, ..."▁helowrdxy.,", "▁h"];
    const added = [["<s>", 0], ["</s>", 4], ["<m>", 2], ["word", 1]] as const;
    const tokenizer = {
      version: "1.0",
      truncation: null,
      padding: null,
      normalizer: null,
      added_tokens: added.map(([content, bits], at) => ({
        id: pieces.length + at,
        content,
        ...flagsOf(bits),
        normalized: false,
        special: true,
      })),
      pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme, split: false },
      post_processor: null,
      decoder: {
        type: "Sequence",
        decoders: [
          { type: "Replace", pattern: { String: "▁" }, content: " " },
          { type: "ByteFallback" },
          { type: "Fuse" },
          { type: "Strip", content: " ", start: 1, stop: 0 },
        ],
      },
      model: {
        type: "BPE",
        dropout: null,
        unk_token: "<unk>",
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: true,
        byte_fallback: true,
        ignore_merges: false,
        vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
        merges: ["▁ h"],
      },
    };
    return [`byte fallback, ${prepend_scheme}`, { tokenizer, config: { unk_token: "<unk>" } }];
  }));
}

/** Returns small tokenizers whose added tokens have flags, by name. */
export function flaggedTokenizers(): Record<string, TokenizerFiles> {
  return { ...byteLevelTokenizers(), ...byteFallbackTokenizers() };
}

/** Writes the files of a tokenizer into a folder. */
export async function writeTokenizer({ tokenizer, config }: TokenizerFiles, folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/tokenizer.json`, JSON.stringify(tokenizer));
  await Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(config));
}
