/** Turns text into token ids and back. {@linkcode loadTokenizer} gives one; anything of this shape will do. */
export interface Tokenizer {
  /** The model's name; a family of chat templates is chosen by the words in it. */
  readonly name: string;
  readonly bosToken?: string | undefined;
  readonly eosToken?: string | undefined;
  /** The model's own chat template, in Jinja. */
  readonly chatTemplate?: string | undefined;
  /** The texts that are one token each with a meaning of its own: no message may smuggle one in. */
  readonly specialTokens: readonly string[];
  /** The ids of a text; a special token in it becomes its id, and none is added. */
  encode(text: string): number[];
  /** Whether there is a token of that id; any is taken where this cannot be asked. */
  has?(id: number): boolean;
  /** The text of ids, special tokens included. */
  decode(ids: readonly number[]): string;
}
