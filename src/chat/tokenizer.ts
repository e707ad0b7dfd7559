import { ArgumentTypeError } from "../errors.ts";

/**
 * A converter between text and token ids. {@linkcode loadTokenizer} creates one; any object of this shape can
 * be used.
 */
export interface Tokenizer {
  /** Name of the model, which selects a family of chat templates. */
  readonly name: string;
  /** Token that begins a text. */
  readonly bosToken?: string | undefined;
  /** Token that ends a text. */
  readonly eosToken?: string | undefined;
  /** The model's own chat template, in Jinja. */
  readonly chatTemplate?: string | undefined;
  /** Texts that are encoded as a single token with a special meaning. In messages they are broken. */
  readonly specialTokens: readonly string[];
  /** Returns the ids of a text. Special tokens in the text are encoded as such; none are added. */
  encode(text: string): number[];
  /** True if there is a token of that id. Without this method, every id is accepted. */
  has?(id: number): boolean;
  /** Returns the text of ids, including special tokens. */
  decode(ids: readonly number[]): string;
}

/**
 * Checks that sampled ids are ids of the tokenizer. `key` names them in the error message.
 *
 * @throws {TypeError} if they are not a list of the tokenizer's ids; the message names the first invalid id.
 */
export function requireTokenIds(ids: readonly number[], tokenizer: Tokenizer, key: string): void {
  const requirement = `Cannot take '${key}' as it must be a list of ids of tokenizer '${tokenizer.name}'`;
  if (!Array.isArray(ids)) {
    throw new ArgumentTypeError(`${requirement}: current value is ${JSON.stringify(ids)}`);
  }
  const index = ids.findIndex((id) => !Number.isInteger(id) || id < 0 || tokenizer.has?.(id) === false);
  if (index !== -1) {
    throw new ArgumentTypeError(`${requirement}: id ${index} is ${JSON.stringify(ids[index])}`);
  }
}
