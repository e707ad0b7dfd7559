import { parse, Template, tokenize } from "@huggingface/jinja";
import { errorMessage } from "../errors.ts";
import type { Message } from "../message.ts";

/** Special tokens of the tokenizer whose text an {@linkcode InverseParser} reads. */
export interface InverseParserOptions {
  /** Token at the start of the text, in place of that of the template's family. */
  readonly bosToken?: string | undefined;
  /** Token that ends an assistant's turn, in place of that of the template's family. */
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

/** Texts that mark the assistant's parts of a rendered chat. */
export interface GenerationMarks {
  readonly start: string;
  readonly end: string;
}

const NO_MARKS: GenerationMarks = { start: "", end: "" };
const TAG = /(\s*)\{%(-?)\s*(end)?generation\s*(-?)%\}(\s*)/g;

/** A parsed chat template. */
export class JinjaTemplate {
  readonly name: string;
  /** True if the template marks the assistant's part with `{% generation %}`. */
  readonly hasGenerationTags: boolean;
  readonly #template = new Template("");

  /** @throws {SyntaxError} if the source is not valid Jinja. */
  constructor({ name, source }: Pick<ChatTemplate, "name" | "source">) {
    this.name = name;
    this.hasGenerationTags = source.search(TAG) !== -1;
    try {
      this.#template.parsed = parse(tokenize(replaceGenerationTags(source)));
    } catch (cause) {
      const reason = errorMessage(cause);
      throw new SyntaxError(`Cannot use chat template '${name}' as it must be Jinja: ${reason}`, { cause });
    }
  }

  /**
   * Renders the template.
   *
   * @throws {Error} if the template raises an error.
   */
  render(variables: Readonly<Record<string, unknown>>, marks: GenerationMarks = NO_MARKS): string {
    try {
      const { start, end } = marks;
      return this.#template.render({ ...variables, _generation_start: start, _generation_end: end });
    } catch (cause) {
      const reason = errorMessage(cause);
      throw new Error(`Cannot render chat as template '${this.name}' fails: ${reason}`, { cause });
    }
  }
}

/**
 * Replaces the generation tags by variables, since the library drops these tags. The library's own trimming
 * of block lines is applied first, in the same order.
 */
function replaceGenerationTags(source: string): string {
  return source
    .replace(/^[ \t]*(\{[#%-])/gm, "$1")
    .replace(/([#%-]\})\n/g, "$1")
    .replace(TAG, (_tag, before, left, end, right, after) => {
      const mark = `{{ _generation_${end ? "end" : "start"} }}`;
      return (left ? "" : before) + mark + (right ? "" : after);
    });
}
