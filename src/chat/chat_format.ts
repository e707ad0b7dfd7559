import type { Message } from "../message.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { ChatTemplate } from "./chat_template.ts";
import { ChatTemplates, type ChooseTemplateOptions } from "./chat_templates.ts";
import { type GenerationMarks, JinjaTemplate } from "./jinja_template.ts";
import { neutraliser } from "./neutralise.ts";
import { shownRole } from "./shown_role.ts";
import { templateMessages, templateTools } from "./template_messages.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { turnMarkers } from "./turn_markers.ts";

/** What makes a {@linkcode ChatFormat}. */
export interface ChatFormatOptions extends ChooseTemplateOptions {
  /** Knows the templates that were added. */
  templates?: ChatTemplates | undefined;
  /**
   * Variables of the template. `bos_token` and `eos_token` go before the tokenizer's. With `drop_tool_roles`,
   * dialogpt, falcon and deepseek leave out what tools say, as TorchRL does: a model is then not told of it.
   */
  templateKwargs?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Roles whose text is rendered as it is, control tokens included. None unless given; `assistant` is for text
   * that was sampled as ids and decoded.
   */
  trusted?: readonly string[] | undefined;
}

/** How one chat is rendered. */
export interface RenderOptions {
  /** Ends the text with the header of the assistant's next turn. */
  addGenerationPrompt?: boolean | undefined;
  tools?: readonly ToolSpec[] | undefined;
  /** Marks what the assistant said, where the template tells it. */
  marks?: GenerationMarks | undefined;
}

/**
 * The way chats are written for one model: a template, a tokenizer's special tokens, and variables.
 *
 * Whatever a message says, it cannot open or close a turn: control tokens in contents, names, arguments of calls
 * and descriptions of tools are broken by a zero-width space, and so are words that a template writes between
 * turns, such as `[/INST]`, and `User:` at the start of a line where speakers are named so. A token that ends a
 * turn is taken off the end of what an assistant says, since the template writes one. Parts of a message that are
 * not text are left out; of the families, qwen alone writes `tool_calls`.
 */
export class ChatFormat {
  readonly tokenizer: Tokenizer | undefined;
  readonly template: ChatTemplate;
  /** The texts that end an assistant's turn. */
  readonly ends: readonly string[];
  readonly #jinja: JinjaTemplate;
  readonly #variables: Readonly<Record<string, unknown>>;
  readonly #trusted: readonly string[];
  readonly #neutralise: (text: string) => string;
  readonly #neutraliseOthers: (text: string) => string;
  readonly #shownRoles = new Map<string, string>();

  /**
   * @throws {TypeError} when there is neither a template nor a tokenizer.
   * @throws {RangeError} when no template has the name.
   * @throws {SyntaxError} when the template is no Jinja.
   */
  constructor(options: ChatFormatOptions) {
    const { templates = new ChatTemplates(), tokenizer, templateKwargs, trusted = [] } = options;
    this.tokenizer = tokenizer;
    this.template = templates.choose(options);
    this.#jinja = new JinjaTemplate(this.template);
    this.#trusted = trusted;
    this.#variables = {
      bos_token: tokenizer?.bosToken ?? "",
      eos_token: tokenizer?.eosToken ?? "",
      ...templateKwargs,
    };
    const { bos_token: bos, eos_token: eos } = this.#variables;
    const { controls = [], speakers = [] } = this.template;
    const marks = [...controls, ...tokenizer?.specialTokens ?? [], bos, eos].filter(isToken);
    this.ends = [...new Set([...this.#turnEnd(marks), ...[eos].filter(isToken)])];
    const found = turnMarkers(this.#jinja, this.#variables, marks);
    this.#neutralise = neutraliser({ controls: marks, speakers });
    this.#neutraliseOthers = neutraliser({
      controls: [...marks, ...found.controls],
      speakers: [...speakers, ...found.speakers],
    });
  }

  /** True when the template says which part is the assistant's own. */
  get marksGeneration(): boolean {
    return this.#jinja.marksGeneration;
  }

  /**
   * Writes a chat.
   *
   * @throws {TypeError} when a message's role is no name.
   * @throws {Error} when the template refuses the chat.
   */
  render(messages: Iterable<Message>, options: RenderOptions = {}): string {
    const { addGenerationPrompt = false, tools = [], marks } = options;
    const variables = {
      messages: templateMessages(messages, {
        neutralise: (text, role) => this.neutralise(text, role),
        cutEnd: (text) => this.cutEnd(text),
        tagsResponses: this.template.source.includes("<tool_response>"),
        trusted: this.#trusted,
        shownRole: (role) => this.#shownRole(role),
      }),
      tools: tools.length === 0 ? null : templateTools(tools, this.#neutraliseOthers),
      add_generation_prompt: addGenerationPrompt,
      ...this.#variables,
    };
    return this.#jinja.render(variables, marks);
  }

  /**
   * The text with its control tokens broken, as messages of the role are rendered. What all but the assistant say
   * is also freed of the words that the template writes between turns.
   */
  neutralise(text: string, role: string): string {
    return role === "assistant" ? this.#neutralise(text) : this.#neutraliseOthers(text);
  }

  /** What an assistant said, without the token that ends its turn. */
  cutEnd(text: string): string {
    const end = this.ends.find((end) => text.endsWith(end));
    return end === undefined ? text : text.slice(0, -end.length);
  }

  #shownRole(role: string): string {
    if (this.#variables.drop_tool_roles) return role;
    const known = this.#shownRoles.get(role);
    if (known !== undefined) return known;
    const shown = shownRole(role, this.#jinja, this.#variables);
    this.#shownRoles.set(role, shown);
    return shown;
  }

  /** The control token that the template writes behind what an assistant says; none where it is no token. */
  #turnEnd(controls: readonly string[]): string[] {
    const said = "\ue000";
    const messages = [{ role: "user", content: "-" }, { role: "assistant", content: said }];
    try {
      const text = this.#jinja.render({ messages, tools: null, ...this.#variables });
      const behind = text.slice(text.indexOf(said) + said.length);
      return controls.filter((control) => behind.startsWith(control));
    } catch {
      return []; // a template that refuses so plain a chat will say so when it is asked for one
    }
  }
}

function isToken(token: unknown): token is string {
  return typeof token === "string" && token !== "";
}
