import { loadTokenizer } from "../src/chat/load_tokenizer.ts";
import type { Tokenizer } from "../src/chat/tokenizer.ts";

/** Options of {@linkcode tinyTokenizer}. */
export interface TinyTokenizerOptions {
  name?: string;
  bosToken?: string;
  eosToken?: string;
  chatTemplate?: unknown;
}

const SPECIALS = [
  "<|im_start|>",
  "<|im_end|>",
  "<|endoftext|>",
  "<|header_start|>",
  "<|header_end|>",
  "<|eot|>",
  "<s>",
  "</s>",
];
const MERGES = [
  "h e",
  "l l",
  "he ll",
  "hell o",
  "Ġ w",
  "o r",
  "Ċ Ċ",
  "u s",
  "us er",
  "e r",
  "t h",
  "th e",
  "Ġ the",
];

/**
 * The pre-tokenizer pattern of current models: line breaks stay together, and words begin with their space.
 */
const WORDS =
  "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/**
 * Returns the files of a byte-level BPE tokenizer with 256 bytes, a dozen merges and eight special tokens.
 */
export function tinyTokenizerFiles(
  options: TinyTokenizerOptions = {},
): { tokenizer: object & { added_tokens: { id: number; content: string }[] }; config: object } {
  const { name = "tiny", bosToken = "<s>", eosToken = "</s>", chatTemplate } = options;
  const pieces = [...byteCharacters(), ...MERGES.map((merge) => merge.replace(" ", ""))];
  const vocab = Object.fromEntries(pieces.map((piece, id) => [piece, id]));
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  const words = { type: "Split", pattern: { Regex: WORDS }, behavior: "Isolated", invert: false };
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const tokenizer = {
    version: "1.0",
    added_tokens: SPECIALS.map((content, index) => ({ id: pieces.length + index, content, ...flags })),
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [words, byteLevel] },
    post_processor: byteLevel,
    decoder: byteLevel,
    model: { type: "BPE", vocab, merges: MERGES, ignore_merges: false },
  };
  const config = {
    name_or_path: name,
    bos_token: { content: bosToken },
    eos_token: eosToken,
    clean_up_tokenization_spaces: true,
    ...(chatTemplate !== undefined && { chat_template: chatTemplate }),
  };
  return { tokenizer, config };
}

/** Loads a tiny tokenizer from files, like a real one. */
export async function tinyTokenizer(options: TinyTokenizerOptions = {}): Promise<Tokenizer> {
  const directory = await Deno.makeTempDir();
  try {
    const { tokenizer, config } = tinyTokenizerFiles(options);
    await Deno.writeTextFile(`${directory}/tokenizer.json`, JSON.stringify(tokenizer));
    await Deno.writeTextFile(`${directory}/tokenizer_config.json`, JSON.stringify(config));
    return await loadTokenizer(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The printable characters that stand for the bytes 0 to 255, in the order in which GPT-2 numbers them. */
function byteCharacters(): string[] {
  const printable = (code: number) => (code > 32 && code < 127) || (code > 160 && code !== 173 && code < 256);
  let next = 256;
  return Array.from({ length: 256 }, (_, code) => String.fromCodePoint(printable(code) ? code : next++));
}
