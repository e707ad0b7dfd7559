import type { Message } from "../message.ts";

/** Special tokens of the tokenizer whose text an {@linkcode InverseParser} reads. */
export interface InverseParserOptions {
  readonly bosToken?: string | undefined;
  readonly eosToken?: string | undefined;
}

/**
 * A function that parses rendered text back into messages.
 *
 * @throws {SyntaxError} if the text contains no message.
 */
export type InverseParser = (text: string, options: InverseParserOptions) => Message[];

/** The chat template of a family of models. */
export interface ChatTemplate {
  readonly name: string;
  /**
   * Source of the template, in Jinja as tokenizers carry it. `{% generation %}` marks the assistant's part.
   */
  readonly source: string;
  /** A tokenizer whose name contains one of these words uses this template. */
  readonly keywords?: readonly string[] | undefined;
  /** Texts that mark turns, besides the tokenizer's special tokens. They are broken in messages. */
  readonly controls?: readonly string[] | undefined;
  /** Words that open a turn when they are followed by a colon at the start of a line. */
  readonly speakers?: readonly string[] | undefined;
  /** Parser of rendered text; without it, text cannot be parsed back. */
  readonly inverseParser?: InverseParser | undefined;
}
