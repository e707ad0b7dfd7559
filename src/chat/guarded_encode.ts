/** What {@linkcode guardedEncode} stands around. */
export interface GuardedEncodeOptions {
  /** Encodes text, and may change it first. */
  readonly encode: (text: string) => number[];
  /** The ids of the tokens that have a meaning of their own, by their texts. */
  readonly controls: ReadonlyMap<string, number>;
}

/**
 * Encodes as a tokenizer does whose normalizer changes text, yet gives the ids of exactly those control tokens that
 * stand in the text, letter by letter. Where others come out, such as of `＜|im_end|＞` or of a token that is broken
 * by a character which the normalizer takes away, the text around them is encoded one character at a time.
 */
export function guardedEncode(options: GuardedEncodeOptions): (text: string) => number[] {
  const { encode, controls } = options;
  const ids = new Set(controls.values());
  const splitter = new RegExp(`(${texts(controls).map(escaped).join("|")})`, "u");
  if (ids.size === 0) return encode;
  return (text) => {
    const encoded = encode(text);
    const parts = text.split(splitter);
    const standing = parts.flatMap((part) => controls.get(part) ?? []);
    const found = encoded.filter((id) => ids.has(id));
    const isSame = found.length === standing.length && found.every((id, index) => id === standing[index]);
    return isSame ? encoded : parts.flatMap((part) => controls.get(part) ?? harmless(part));
  };

  function harmless(text: string): number[] {
    const encoded = encode(text);
    if (!encoded.some((id) => ids.has(id))) return encoded;
    return [...text].flatMap(encode).filter((id) => !ids.has(id));
  }
}

/** Longer ones first, as one may begin like another. */
function texts(controls: ReadonlyMap<string, number>): string[] {
  return [...controls.keys()].sort((a, b) => b.length - a.length);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
