// @ts-types="./huggingface.d.ts"
import {
  ByteFallbackDecoder,
  ByteLevelDecoder,
  SequenceDecoder,
  type Tokenizer,
} from "@huggingface/tokenizers";

const BYTE = /^<0x([\da-fA-F]{2})>$/;

/**
 * Lets a tokenizer decode bytes as Python's `tokenizers` 0.23.3 does, where `@huggingface/tokenizers` 0.2.0 does not:
 *
 * - Byte tokens, such as `<0xEF>`, that are not UTF-8 together give a U+FFFD each, and a byte order mark is kept.
 * - In byte-level vocabularies, letters of an added token that stand for bytes decode to the bytes.
 */
export function decodeBytesExactly({ decoder }: Tokenizer): void {
  const decoders = decoder instanceof SequenceDecoder ? decoder.decoders : [decoder];
  for (const inner of decoders) {
    if (inner instanceof ByteFallbackDecoder) inner.decode_chain = decodeBytes;
    if (inner instanceof ByteLevelDecoder) {
      const { byte_decoder } = inner;
      inner.decode_chain = (tokens) => [decodeByteLevel(tokens, byte_decoder)];
    }
  }
}

function decodeBytes(tokens: string[]): string[] {
  const texts: string[] = [];
  let bytes: number[] = [];
  for (const token of [...tokens, undefined]) {
    const [, digits] = BYTE.exec(token ?? "") ?? [];
    if (digits !== undefined) bytes.push(Number.parseInt(digits, 16));
    else {
      if (bytes.length > 0) texts.push(utf8Text(bytes));
      bytes = [];
      if (token !== undefined) texts.push(token);
    }
  }
  return texts;
}

function utf8Text(bytes: readonly number[]): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return "\ufffd".repeat(bytes.length); // not UTF-8: a part of a character, or bytes that a model sampled at random
  }
}

function decodeByteLevel(tokens: readonly string[], byteOf: Readonly<Record<string, number>>): string {
  const bytes: number[] = [];
  for (const token of tokens) {
    const letters = [...token];
    const isOfBytes = letters.every((letter) => letter in byteOf);
    bytes.push(...isOfBytes ? letters.map((letter) => byteOf[letter] ?? 0) : new TextEncoder().encode(token));
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
}
