/** Options of {@linkcode strictEncoder}. */
export interface StrictEncoderOptions {
  /** Encodes text, possibly after normalizing it. */
  readonly encode: (text: string) => number[];
  /** Ids of the control tokens, by their texts. */
  readonly controls: ReadonlyMap<string, number>;
}

/**
 * Returns an encoder that is safe with a normalizer: the result contains exactly those control tokens that
 * the text contains literally. A normalizer can create others, for example from `＜|im_end|＞`, or by removing
 * a character that breaks a token. In that case the surrounding text is encoded one character at a time.
 */
export function strictEncoder(options: StrictEncoderOptions): (text: string) => number[] {
  const { encode, controls } = options;
  const ids = new Set(controls.values());
  const splitter = new RegExp(
    `(${sortByLength(controls).map((text) => RegExp.escape(text)).join("|")})`,
    "u",
  );
  if (ids.size === 0) return encode;
  return (text) => {
    const encoded = encode(text);
    const parts = text.split(splitter);
    const expected = parts.flatMap((part) => controls.get(part) ?? []);
    const found = encoded.filter((id) => ids.has(id));
    const isSame = found.length === expected.length && found.every((id, index) => id === expected[index]);
    return isSame ? encoded : parts.flatMap((part) => controls.get(part) ?? encodeWithoutControls(part));
  };

  function encodeWithoutControls(text: string): number[] {
    const encoded = encode(text);
    if (!encoded.some((id) => ids.has(id))) return encoded;
    return [...text].flatMap(encode).filter((id) => !ids.has(id));
  }
}

/** Sorts longer texts first, since one may be the start of another. */
function sortByLength(controls: ReadonlyMap<string, number>): string[] {
  return [...controls.keys()].sort((a, b) => b.length - a.length);
}
