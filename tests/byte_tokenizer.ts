import type { Tokenizer } from "../src/chat/tokenizer.ts";

/** What a byte tokenizer is like. */
export interface ByteTokenizerOptions {
  /** Texts that are one token each. */
  specialTokens?: readonly string[];
  chatTemplate?: string;
}

const SPECIALS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"];

/** A tokenizer of bytes, with a few special tokens behind them: whoever reads a failing test can read its ids. */
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
      text.split(split).flatMap((piece) => {
        const id = ids.get(piece);
        return id === undefined ? bytes(piece) : [id];
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
