import type { Tokenizer } from "../src/chat/tokenizer.ts";

/** Options of {@linkcode byteTokenizer}. */
export interface ByteTokenizerOptions {
  /** Texts that are encoded as one token. */
  specialTokens?: readonly string[];
  chatTemplate?: string;
}

const SPECIALS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"];

/**
 * Creates a tokenizer whose ids are bytes, followed by a few special tokens. Its ids are readable in a
 * failing test.
 */
export function byteTokenizer(options: ByteTokenizerOptions = {}): Tokenizer {
  const { specialTokens = SPECIALS, chatTemplate } = options;
  const ids = new Map(specialTokens.map((token, at) => [token, 256 + at]));
  const split = new RegExp(`(${specialTokens.map(escaped).join("|")})`);
  const bytes = (text: string) => [...new TextEncoder().encode(text)];
  return {
    name: "bytes",
    eosToken: specialTokens[1] ?? "",
    ...(chatTemplate !== undefined && { chatTemplate }),
    specialTokens,
    encode: (text) =>
      text.split(split).flatMap((part) => {
        const id = ids.get(part);
        return id === undefined ? bytes(part) : [id];
      }),
    decode: (tokens) => decode(tokens, specialTokens),
  };
}

function decode(ids: readonly number[], specialTokens: readonly string[]): string {
  const specials = ids.flatMap((id, at) => id >= 256 ? [at] : []);
  const ends = [...specials, ids.length];
  let from = 0;
  return ends.map((end) => {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(ids.slice(from, end)));
    from = end + 1;
    if (end === ids.length) return text;
    const special = specialTokens[(ids[end] ?? 0) - 256];
    if (special === undefined) throw new RangeError(`there is no token ${ids[end]}`);
    return text + special;
  }).join("");
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
