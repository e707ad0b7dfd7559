import { errorMessage } from "../errors.ts";
import type { Message } from "../message.ts";
import { type ContentForm, ContentForms } from "./content_form.ts";
// @ts-types="./jinja/template.d.ts"
import { type GenerationMarks, Template } from "./jinja/template.ts";

export type { GenerationMarks };

/** Special tokens of the tokenizer whose text an {@linkcode InverseParser} reads. */
export interface InverseParserOptions {
  /** Token at the start of the text, in place of the family's token. */
  readonly bosToken?: string | undefined;
  /** Token that ends an assistant's turn, in place of the family's token. */
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
  /** A tokenizer whose name contains such a word uses this template. */
  readonly keywords?: readonly string[] | undefined;
  /** Texts that mark turns, besides the tokenizer's special tokens. They are broken in messages. */
  readonly controls?: readonly string[] | undefined;
  /** Words that open a turn when they are followed by a colon at the start of a line. */
  readonly speakers?: readonly string[] | undefined;
  /** Parser of rendered text. Without a parser, text cannot be parsed back. */
  readonly inverseParser?: InverseParser | undefined;
}

/** Time of small chats by which properties of a template are found. Two of them are compared. */
const PROBE_TIME = new Date(0);

/** Options of {@linkcode JinjaTemplate.render}. */
export interface RenderJinjaOptions {
  /** Texts around the parts that the template marks with `{% generation %}`. */
  readonly marks?: GenerationMarks | undefined;
  /**
   * Time that `strftime_now` shows.
   *
   * @default the time of the small chats that find properties of the template
   */
  readonly time?: Date | undefined;
}

/** A chat template that has been parsed. */
export class JinjaTemplate {
  readonly name: string;
  readonly #template: Template;
  readonly #contents: ContentForms;

  /** @throws {SyntaxError} if the source is not valid Jinja, or uses what Paddock does not know. */
  constructor({ name, source }: Pick<ChatTemplate, "name" | "source">) {
    this.name = name;
    this.#contents = new ContentForms(source);
    try {
      this.#template = new Template(source);
    } catch (cause) {
      const reason = errorMessage(cause);
      throw new SyntaxError(`Cannot use chat template '${name}' as it must be Jinja: ${reason}`, { cause });
    }
  }

  /** True if the template marks the assistant's part with `{% generation %}`. */
  get hasGenerationTags(): boolean {
    return this.#template.hasGeneration;
  }

  /**
   * Renders the template with variables, which are data of JSON. The texts of `messages` are given as parts where the
   * template shows them only so. See {@linkcode Template.render}.
   *
   * @throws {Error} if the template raises an error.
   */
  render(
    variables: Readonly<Record<string, unknown>>,
    { marks, time = PROBE_TIME }: RenderJinjaOptions = {},
  ): string {
    const options = { marks, now: () => time };
    try {
      const { messages } = variables;
      if (!Array.isArray(messages)) return this.#template.render(variables, options);
      const contents = this.#contents.apply(messages, this.#renderChat(variables));
      return this.#template.render({ ...variables, messages: contents }, options);
    } catch (cause) {
      const reason = errorMessage(cause);
      throw new Error(`Cannot render chat as template '${this.name}' fails: ${reason}`, { cause });
    }
  }

  /** Returns the form in which the template takes the contents of messages of a role. */
  contentForm(role: string, variables: Readonly<Record<string, unknown>> = {}): ContentForm {
    return this.#contents.formOf(role, this.#renderChat(variables));
  }

  #renderChat(variables: Readonly<Record<string, unknown>>): (messages: readonly object[]) => string {
    return (messages) =>
      this.#template.render({ ...variables, tools: null, add_generation_prompt: false, messages }, {
        now: () => PROBE_TIME,
      });
  }
}
