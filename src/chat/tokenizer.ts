/**
 * A converter between text and token ids. {@linkcode loadTokenizer} creates one; any object of this shape can
 * be used.
 */
export interface Tokenizer {
  /** Name of the model. It selects a family of chat templates. */
  readonly name: string;
  /** Token that begins a text. */
  readonly bosToken?: string | undefined;
  /** Token that ends a text. */
  readonly eosToken?: string | undefined;
  /** The model's own chat template, in Jinja. */
  readonly chatTemplate?: string | undefined;
  /** Texts that are encoded as one token with a special meaning. In messages they are broken. */
  readonly specialTokens: readonly string[];
  /** Returns the ids of a text. Special tokens in the text are encoded as such; none are added. */
  encode(text: string): number[];
  /** True if there is a token of that id. Without this method, every id is accepted. */
  has?(id: number): boolean;
  /** Returns the text of ids, including special tokens. */
  decode(ids: readonly number[]): string;
}
