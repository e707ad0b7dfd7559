import type { ChatTemplate, InverseParser } from "./chat_template.ts";
import { CHATML, FAMILIES } from "./families.ts";
import { parseChatml } from "./parse_chatml.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** What {@linkcode ChatTemplates.addChatTemplate} may be told beside a name and a template. */
export interface AddChatTemplateOptions {
  /** Reads text of this template back; without it, it cannot be read. */
  inverseParser?: InverseParser | undefined;
  /** Tokenizers with one of these in their names use the template, whatever their own is. */
  keywords?: readonly string[] | undefined;
  /** The texts that mark turns and are no special tokens of the tokenizer. */
  controls?: readonly string[] | undefined;
}

/** What a chat template is chosen by. */
export interface ChooseTemplateOptions {
  /** A template in Jinja, which is then the one. */
  chatTemplate?: string | undefined;
  /** The name of a family, or of an added template; `tokenizer` means the tokenizer's own. */
  family?: string | undefined;
  tokenizer?: Tokenizer | undefined;
}

const GENERATION = /\{%-?\s*generation\s*-?%\}/;
const OWN = "tokenizer";

/** The chat templates that can be named: chatml, qwen, dialogpt, falcon, deepseek, llama, and those added. */
export class ChatTemplates {
  readonly #added = new Map<string, ChatTemplate>();

  /**
   * Adds a template, or puts it in the place of the one with its name.
   *
   * @throws {TypeError} when no part of it is marked as the assistant's by `{% generation %}`.
   */
  addChatTemplate(name: string, template: string, options: AddChatTemplateOptions = {}): this {
    if (!GENERATION.test(template)) {
      throw new TypeError(
        `Cannot add chat template '${name}' as it must mark the assistant's part with '{% generation %}': ` +
          "it has none",
      );
    }
    this.#added.set(name, { name, source: template, ...options });
    return this;
  }

  /**
   * The template of a name.
   *
   * @throws {RangeError} when there is none.
   */
  get(name: string): ChatTemplate {
    const wanted = name === "chatml_format" ? CHATML.name : name;
    const found = this.#added.get(name) ?? FAMILIES.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    const names = [...FAMILIES, ...this.#added.values()].map(({ name }) => name);
    throw new RangeError(
      `Cannot choose chat template as it must be one of ${names.join(", ")}: current value is '${name}'`,
    );
  }

  /**
   * Chooses a template: the one given, else the one named, else one added whose keyword is in the tokenizer's
   * name, else a family whose keyword is, else the tokenizer's own, else chatml.
   *
   * @throws {TypeError} when there is nothing to choose by.
   */
  choose(options: ChooseTemplateOptions): ChatTemplate {
    const { chatTemplate, family, tokenizer } = options;
    if (chatTemplate !== undefined) return ownTemplate("chatTemplate", chatTemplate);
    if (family !== undefined && family !== OWN) return this.get(family);
    if (tokenizer === undefined) {
      throw new TypeError("You must specify a tokenizer to use when chat_template is not specified.");
    }
    if (family === OWN) return ownOf(tokenizer);
    const known = [...this.#added.values(), ...FAMILIES].find((template) =>
      isNamedAfter(tokenizer, template)
    );
    if (known !== undefined) return known;
    return tokenizer.chatTemplate === undefined ? CHATML : ownOf(tokenizer);
  }
}

function isNamedAfter(tokenizer: Tokenizer, { keywords = [] }: ChatTemplate): boolean {
  const name = tokenizer.name.toLowerCase();
  return keywords.some((keyword) => name.includes(keyword.toLowerCase()));
}

function ownOf({ name, chatTemplate }: Tokenizer): ChatTemplate {
  if (chatTemplate !== undefined) return ownTemplate(name, chatTemplate);
  throw new TypeError(
    `Cannot choose chat template as tokenizer '${name}' must have one of its own: it has none, so name a family`,
  );
}

/** Most templates of tokenizers write chatml, and say so by its tokens. */
function ownTemplate(name: string, source: string): ChatTemplate {
  if (!source.includes("<|im_start|>")) return { name, source };
  return { name, source, inverseParser: (text) => parseChatml(text) };
}
