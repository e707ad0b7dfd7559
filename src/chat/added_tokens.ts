/** A token of `tokenizer.json` that is found in a text before the text is tokenized. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** True if the token must not stand beside a letter or a digit. */
  readonly single_word?: boolean | undefined;
  /** True if the token takes the preceding white space. */
  readonly lstrip?: boolean | undefined;
  /** True if the token takes the following white space. */
  readonly rstrip?: boolean | undefined;
  /**
   * True if the token is searched in the normalized text.
   *
   * @default true, or false for a special token
   */
  readonly normalized?: boolean | undefined;
  readonly special?: boolean | undefined;
}

/** True for a token that `@huggingface/tokenizers` 0.2.0 does not find as Python's `tokenizers` does. */
export function hasFlags({ single_word, lstrip, rstrip }: AddedToken): boolean {
  return single_word === true || lstrip === true || rstrip === true;
}

// Rust's `\w` and `\s`. JavaScript's `trim` also removes U+FEFF, and keeps U+0085.
const WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const SPACE = /\p{White_Space}/u;

/** Options of {@linkcode addedTokenEncoder}. */
export interface AddedTokenEncoderOptions {
  readonly tokens: readonly AddedToken[];
  readonly normalize: (text: string) => string;
  /**
   * Encodes a normalized text without added tokens. `isFirst` is false for a text after another part of the whole
   * text.
   */
  readonly encode: (text: string, isFirst: boolean) => number[];
}

/**
 * Returns an encoder that finds added tokens as Python's `tokenizers` 0.23.3 does: `@huggingface/tokenizers` 0.2.0 ignores
 * `single_word`, and takes other white space for `lstrip` and `rstrip`.
 */
export function addedTokenEncoder(options: AddedTokenEncoderOptions): (text: string) => number[] {
  const { tokens, normalize, encode } = options;
  const isNormalized = ({ normalized, special }: AddedToken) => normalized ?? special !== true;
  const splitText = splitterOf(tokens.filter((token) => !isNormalized(token)));
  const splitNormalized = splitterOf(
    tokens.filter(isNormalized).map((token) => ({ ...token, content: normalize(token.content) })),
  );
  return (text) => {
    const ids: number[] = [];
    for (const part of splitText(text)) {
      if (typeof part === "number") ids.push(part);
      else {
        for (const inner of splitNormalized(normalize(part))) {
          const isFirst = ids.length === 0;
          for (const id of typeof inner === "number" ? [inner] : encode(inner, isFirst)) ids.push(id);
        }
      }
    }
    return ids;
  };
}

/** Returns a function that splits a text into ids of tokens, and the texts around them. */
function splitterOf(tokens: readonly AddedToken[]): (text: string) => (string | number)[] {
  const byContent = new Map(tokens.map((token) => [token.content, token]));
  // the longest token counts where several begin
  const contents = [...byContent.keys()].filter((content) => content !== "").sort((a, b) =>
    b.length - a.length
  );
  if (contents.length === 0) return (text) => text === "" ? [] : [text];
  const pattern = new RegExp(contents.map((content) => RegExp.escape(content)).join("|"), "gu");
  return (text) => {
    const parts: (string | number)[] = [];
    let from = 0;
    for (const { 0: content, index } of text.matchAll(pattern)) {
      const token = byContent.get(content);
      const end = index + content.length;
      if (token === undefined || index < from || (token.single_word && isInWord(text, index, end))) continue;
      parts.push(text.slice(from, token.lstrip ? startOfSpace(text, index, from) : index), token.id);
      from = token.rstrip ? endOfSpace(text, end) : end;
    }
    parts.push(text.slice(from));
    return parts.filter((part) => part !== "");
  };
}

function isInWord(text: string, start: number, end: number): boolean {
  const before = [...text.slice(Math.max(0, start - 2), start)].at(-1) ?? "";
  const [after = ""] = text.slice(end, end + 2);
  return WORD.test(before) || WORD.test(after);
}

function startOfSpace(text: string, end: number, least: number): number {
  let start = end;
  while (start > least && SPACE.test(text[start - 1] ?? "")) start--;
  return start;
}

function endOfSpace(text: string, start: number): number {
  let end = start;
  while (SPACE.test(text[end] ?? "")) end++;
  return end;
}
