import type { ChatTemplate, InverseParser } from "./chat_template.ts";
import { isHarmonyTemplate } from "./replies/harmony.ts";
import { parseHarmonyChat } from "./replies/harmony_chat.ts";
import { modelChatParserOf } from "./replies/model_chats.ts";
import { parseChatml, parseLines, parseLlama, parseSpeakers } from "./inverse_parsers.ts";
import chatml from "./templates/chatml.jinja" with { type: "text" };
import deepseek from "./templates/deepseek.jinja" with { type: "text" };
import dialogpt from "./templates/dialogpt.jinja" with { type: "text" };
import falcon from "./templates/falcon.jinja" with { type: "text" };
import llama from "./templates/llama.jinja" with { type: "text" };
import qwen from "./templates/qwen.jinja" with { type: "text" };
import type { Tokenizer } from "./tokenizer.ts";

/** Options of {@linkcode ChatTemplates.addChatTemplate}. */
export interface AddChatTemplateOptions {
  /** Parser of text that this template rendered. Without a parser, such text cannot be parsed. */
  inverseParser?: InverseParser | undefined;
  /** A tokenizer whose name contains such a word uses this template instead of the tokenizer's own. */
  keywords?: readonly string[] | undefined;
  /** Texts that mark turns and are not special tokens of the tokenizer. */
  controls?: readonly string[] | undefined;
}

/** Options of {@linkcode ChatTemplates.choose}. */
export interface ChooseTemplateOptions {
  /** Source of a template, in Jinja. The source overrides all other options. */
  chatTemplate?: string | undefined;
  /** Name of a family or of an added template; `tokenizer` selects the tokenizer's own template. */
  family?: string | undefined;
  /** Tokenizer whose name or own template selects the template. */
  tokenizer?: Tokenizer | undefined;
}

const GENERATION = /\{%-?\s*generation\s*-?%\}/;
const OWN = "tokenizer";

/** A registry of chat templates by name: chatml, qwen, dialogpt, falcon, deepseek, llama, and added ones. */
export class ChatTemplates {
  readonly #added = new Map<string, ChatTemplate>();

  /**
   * Adds a template, or replaces the template of that name.
   *
   * @throws {TypeError} if the template does not mark the assistant's part with `{% generation %}`.
   */
  addChatTemplate(name: string, template: string, options: AddChatTemplateOptions = {}): this {
    if (!GENERATION.test(template)) {
      throw new TypeError(
        `Cannot add chat template '${name}' as it must mark the assistant's part with '{% generation %}': ` +
          "found no such tag",
      );
    }
    this.#added.set(name, { name, source: template, ...options });
    return this;
  }

  /**
   * Returns the template of a name.
   *
   * @throws {RangeError} if there is no such template.
   */
  get(name: string): ChatTemplate {
    const wanted = name === "chatml_format" ? CHATML.name : name;
    const template = this.#added.get(name) ?? FAMILIES.find(({ name }) => name === wanted);
    if (template !== undefined) return template;
    const names = [...FAMILIES, ...this.#added.values()].map(({ name }) => name);
    throw new RangeError(
      `Cannot choose chat template as it must be one of ${names.join(", ")}: current value is '${name}'`,
    );
  }

  /**
   * Chooses a template. The first match counts: `chatTemplate`, `family`, an added template with a keyword in
   * the tokenizer's name, a family with such a keyword, the tokenizer's own template, chatml.
   *
   * @throws {TypeError} if no option is given, or the tokenizer has no template where a template is needed.
   * @throws {RangeError} if there is no template of that name.
   */
  choose(options: ChooseTemplateOptions): ChatTemplate {
    const { chatTemplate, family, tokenizer } = options;
    if (chatTemplate !== undefined) return templateOfSource("chatTemplate", chatTemplate);
    if (family !== undefined && family !== OWN) return this.get(family);
    if (tokenizer === undefined) {
      throw new TypeError("You must specify a tokenizer to use when chat_template is not specified.");
    }
    if (family === OWN) return templateOfTokenizer(tokenizer);
    const matching = [...this.#added.values(), ...FAMILIES].find((template) =>
      isNamedAfter(tokenizer, template)
    );
    if (matching !== undefined) return matching;
    return tokenizer.chatTemplate === undefined ? CHATML : templateOfTokenizer(tokenizer);
  }
}

function isNamedAfter(tokenizer: Tokenizer, { keywords = [] }: ChatTemplate): boolean {
  const name = tokenizer.name.toLowerCase();
  return keywords.some((keyword) => name.includes(keyword.toLowerCase()));
}

function templateOfTokenizer({ name, chatTemplate }: Tokenizer): ChatTemplate {
  if (chatTemplate !== undefined) return templateOfSource(name, chatTemplate);
  throw new TypeError(
    `Cannot use the chat template of tokenizer '${name}' as it has none: name a family instead`,
  );
}

/** Creates a template from a source, whose tokens show the template's format. */
function templateOfSource(name: string, source: string): ChatTemplate {
  if (isHarmonyTemplate(source)) return { name, source, inverseParser: parseHarmonyChat };
  const inverseParser = modelChatParserOf(source);
  if (inverseParser !== undefined) return { name, source, inverseParser };
  if (!source.includes("<|im_start|>")) return { name, source };
  return { name, source, inverseParser: (text) => parseChatml(text) };
}

const CHATML_CONTROLS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"];
const DEEPSEEK_BOUNDS = [
  { bosToken: "<｜begin▁of▁sentence｜>", eosToken: "<｜end▁of▁sentence｜>" },
  { bosToken: "<s>", eosToken: "</s>" },
] as const;
const SPEAKERS = ["User", "Assistant", "Tool", "System"];

/** The chatml template, used for unknown models. */
const CHATML: ChatTemplate = {
  name: "chatml",
  source: chatml,
  controls: CHATML_CONTROLS,
  inverseParser: (text) => parseChatml(text),
};

/** The built-in families, in the order in which they are compared with a tokenizer's name. */
export const FAMILIES: readonly ChatTemplate[] = [
  {
    name: "qwen",
    source: qwen,
    keywords: ["qwen"],
    controls: CHATML_CONTROLS,
    inverseParser: (text) => parseChatml(text, { dropEmptyTail: true }),
  },
  {
    name: "dialogpt",
    source: dialogpt,
    keywords: ["dialogpt"],
    controls: ["<|endoftext|>"],
    speakers: SPEAKERS,
    inverseParser: parseLines,
  },
  {
    name: "falcon",
    source: falcon,
    keywords: ["falcon"],
    controls: ["<|endoftext|>"],
    speakers: SPEAKERS,
    inverseParser: (text) => parseSpeakers(text),
  },
  {
    name: "deepseek",
    source: deepseek,
    keywords: ["deepseek"],
    controls: Object.values(DEEPSEEK_BOUNDS[0]),
    speakers: SPEAKERS,
    inverseParser: (text, tokens) => parseSpeakers(text, { ...tokens, bounds: DEEPSEEK_BOUNDS }),
  },
  {
    name: "llama",
    source: llama,
    keywords: ["llama"],
    controls: ["<|header_start|>", "<|header_end|>", "<|eot|>", "<|begin_of_text|>", "<|end_of_text|>"],
    inverseParser: parseLlama,
  },
  CHATML,
];
