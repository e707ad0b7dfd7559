import type { Message } from "../message.ts";

/** What a parser may know of the tokenizer whose text it reads. */
export interface InverseParserOptions {
  readonly bosToken?: string | undefined;
  readonly eosToken?: string | undefined;
}

/**
 * Reads rendered text back into messages.
 *
 * @throws {SyntaxError} when no message is found.
 */
export type InverseParser = (text: string, options: InverseParserOptions) => Message[];

/** How chats are written for a family of models. */
export interface ChatTemplate {
  readonly name: string;
  /** Jinja, as tokenizers carry it; what stands in `{% generation %}` is the assistant's own. */
  readonly source: string;
  /** A tokenizer with one of these in its name is taken to be of this family. */
  readonly keywords?: readonly string[] | undefined;
  /** The texts that mark turns, beside the tokenizer's special tokens: they are neutralised in messages. */
  readonly controls?: readonly string[] | undefined;
  /** The words that open a turn when they stand before a colon at the start of a line. */
  readonly speakers?: readonly string[] | undefined;
  readonly inverseParser?: InverseParser | undefined;
}
