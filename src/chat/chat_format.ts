import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { type Message, messageText, type ToolCall, type ToolSpec } from "../message.ts";
import { NativeCalls } from "./calls/native_calls.ts";
import { type ChatTemplate, type GenerationMarks, JinjaTemplate } from "./chat_template.ts";
import { ChatTemplates, type ChooseTemplateOptions } from "./chat_templates.ts";
import { controlTokenEscaper, findTurnMarkers } from "./control_tokens.ts";
import { type ReplyParts, replySplitterOf } from "./replies/reply_format.ts";
import {
  findChatEnd,
  findDisplayRole,
  findEndTokens,
  findOpenedThought,
  type ProbedTemplate,
} from "./template_probe.ts";
import { type TemplateMessage, toTemplateMessages, toTemplateTools } from "./template_messages.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Options of {@linkcode ChatFormat}. */
export interface ChatFormatOptions extends ChooseTemplateOptions {
  /**
   * Templates to choose from.
   *
   * @default new ChatTemplates()
   */
  templates?: ChatTemplates | undefined;
  /**
   * Variables of the template. `bos_token` and `eos_token` override the tokenizer's tokens. With
   * `drop_tool_roles`, dialogpt, falcon and deepseek omit tool messages, and all families but qwen omit native tool
   * calls, as TorchRL does, so the model does not see them.
   */
  templateKwargs?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Roles whose text is rendered unchanged, including control tokens. Use `assistant` for text that was sampled as ids and
   * decoded. Thoughts and calls in such text get the template's fields where the template needs the fields, as gpt-oss's
   * template does.
   *
   * @default []
   */
  trusted?: readonly string[] | undefined;
  /**
   * Clock of `strftime_now`, in the local time zone.
   *
   * @default () => new Date()
   */
  now?: (() => Date) | undefined;
}

/** Options of {@linkcode ChatFormat.render}. */
export interface RenderOptions {
  /**
   * Appends the header of the assistant's next turn.
   *
   * @default false
   */
  addGenerationPrompt?: boolean | undefined;
  /** Tools to describe to the model. */
  tools?: readonly ToolSpec[] | undefined;
  /** Texts to put around the assistant's parts, if the template marks them. */
  marks?: GenerationMarks | undefined;
  /**
   * Time that `strftime_now` shows. Give all renderings of an episode the same time, since a prompt with another second
   * is another prefix.
   *
   * @default the time of the format's clock
   */
  time?: Date | undefined;
}

/**
 * Renders chats for a model, with a template, the tokenizer's special tokens, and variables.
 *
 * A message cannot open or close a turn. Control tokens in contents, names, call arguments and tool descriptions are
 * broken by a zero-width space. So are separators that the template writes between turns, such as `[/INST]`, and `User:`
 * at the start of a line if the template names speakers so. A token that ends a turn is removed from the end of an
 * assistant's text, since the template writes such a token. Parts of a message that are not text are omitted. The template
 * gets native tool calls in the template's form: `arguments` as an object, or as text if the template raises an error for
 * an object. A call or a tool's result that the template drops is an error. Among the built-in families, only qwen writes
 * `tool_calls`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatFormat } from "@paddock/paddock/chat";
 *
 * const format = new ChatFormat({ family: "chatml" });
 * const text = format.render([{ role: "user", content: "Hello" }], { addGenerationPrompt: true });
 * assertEquals(text, "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
 * ```
 */
export class ChatFormat {
  readonly tokenizer: Tokenizer | undefined;
  readonly template: ChatTemplate;
  /** Tokens that end an assistant's turn. */
  readonly endTokens: readonly string[];
  /** Token that the template writes only at the end of a whole chat, if there is such a token, as with Phi 3. */
  readonly chatEnd: string | undefined;
  readonly #jinja: JinjaTemplate;
  readonly #probed: ProbedTemplate;
  readonly #openedThought: string | undefined;
  readonly #splitReply: ((text: string) => ReplyParts) | undefined;
  readonly #trusted: readonly string[];
  readonly #escapeAssistant: (text: string) => string;
  readonly #escapeOthers: (text: string) => string;
  readonly #displayRoles = new Map<string, string>();
  readonly #calls: NativeCalls;
  readonly #now: () => Date;

  /**
   * @throws {TypeError} if neither a template nor a tokenizer is given.
   * @throws {RangeError} if there is no template of that name.
   * @throws {SyntaxError} if the template is not valid Jinja.
   */
  constructor(options: ChatFormatOptions) {
    requireKnownOptions("create ChatFormat", options, CHAT_FORMAT_OPTIONS);
    const { templates = new ChatTemplates(), tokenizer, templateKwargs, trusted = [] } = options;
    this.#now = options.now ?? (() => new Date());
    this.tokenizer = tokenizer;
    this.template = templates.choose(options);
    this.#jinja = new JinjaTemplate(this.template);
    this.#trusted = trusted;
    const variables: Record<string, unknown> = {
      bos_token: tokenizer?.bosToken ?? "",
      eos_token: tokenizer?.eosToken ?? "",
      ...templateKwargs,
    };
    this.#probed = { template: this.#jinja, variables };
    // sampled text is taken apart; a text of another origin is rendered as in transformers
    this.#splitReply = trusted.includes("assistant") ? replySplitterOf(this.template.source) : undefined;
    const { bos_token: bos, eos_token: eos } = variables;
    const { controls = [], speakers = [] } = this.template;
    const controlTokens = [...controls, ...tokenizer?.specialTokens ?? [], bos, eos].filter(isToken);
    this.#calls = new NativeCalls(this.#probed, controlTokens);
    const eosToken = isToken(eos) ? eos : undefined;
    this.endTokens = findEndTokens(this.#probed, {
      controls: controlTokens,
      callEnd: this.#calls.end,
      eosToken,
    });
    this.chatEnd = findChatEnd(this.#probed, eosToken);
    this.#openedThought = findOpenedThought(this.#probed);
    const markers = findTurnMarkers(this.#jinja, variables, controlTokens);
    this.#escapeAssistant = controlTokenEscaper({ controls: controlTokens, speakers });
    this.#escapeOthers = controlTokenEscaper({
      controls: [...controlTokens, ...markers.controls],
      speakers: [...speakers, ...markers.speakers],
      plain: markers.plain,
    });
  }

  /** True if the template marks the assistant's part with `{% generation %}`. */
  get hasGenerationTags(): boolean {
    return this.#jinja.hasGenerationTags;
  }

  /** Returns the time of the format's clock. */
  now(): Date {
    return this.#now();
  }

  /**
   * Renders a chat as text.
   *
   * @throws {TypeError} if a message's role is empty, or contains a line break or a control token.
   * @throws {Error} if the template rejects the chat.
   */
  render(messages: Iterable<Message>, options: RenderOptions = {}): string {
    const { addGenerationPrompt = false, tools = [], marks, time = this.now() } = options;
    const variables = {
      messages: this.toTemplateMessages(messages, { addGenerationPrompt }),
      tools: tools.length === 0 ? null : this.toTemplateTools(tools),
      add_generation_prompt: addGenerationPrompt,
      ...this.#probed.variables,
    };
    return this.#jinja.render(variables, { marks, time });
  }

  /**
   * Returns the messages that the template gets: with the template's roles, and with control tokens broken. Some templates
   * take a call in another form before a generation prompt.
   *
   * @throws {TypeError} if a message's role is empty, or contains a line break or a control token.
   */
  toTemplateMessages(
    messages: Iterable<Message>,
    { addGenerationPrompt = false }: Pick<RenderOptions, "addGenerationPrompt"> = {},
  ): TemplateMessage[] {
    const result = toTemplateMessages(messages, {
      escapeControlTokens: (text, role) => this.neutralise(text, role),
      stripEndToken: (text) => this.cutEnd(text),
      hasToolResponseTags: this.template.source.includes("<tool_response>"),
      trusted: this.#trusted,
      displayRole: (role) => this.#displayRole(role),
      splitReply: this.#splitReply,
      openedThought: this.#trusted.includes("assistant") ? this.#openedThought : undefined,
      callForm: (calls, { isLast, ...beside }) =>
        this.#calls.formOf(calls, {
          ...beside,
          position: !isLast ? "middle" : addGenerationPrompt ? "prompted" : "last",
        }),
    });
    this.#calls.requireBeforeResults(result);
    return result;
  }

  /** Returns the tools that the template gets, with control tokens broken. */
  toTemplateTools(tools: readonly ToolSpec[]): object[] {
    return toTemplateTools(tools, this.#escapeOthers);
  }

  /**
   * Breaks control tokens in a text, as in a rendered message of this role. For all roles but
   * the assistant, the separators that the template writes between turns are broken too.
   */
  neutralise(text: string, role: string): string {
    return role === "assistant" ? this.#escapeAssistant(text) : this.#escapeOthers(text);
  }

  /** Removes the token that ends a turn from the end of an assistant's text. */
  cutEnd(text: string): string {
    const end = this.endTokens.find((end) => text.endsWith(end));
    return end === undefined ? text : text.slice(0, -end.length);
  }

  /** Token with which the template ends a message that calls tools, if there is such a token. */
  get callEnd(): string | undefined {
    return this.#calls.end;
  }

  /** True if the template shows a tool's result only after a message with native calls. */
  get needsCalls(): boolean {
    return this.#calls.isNeededForResults;
  }

  /** True if the template writes the id of a call in the call's result. */
  get namesCalls(): boolean {
    return this.#calls.isNamedInResults;
  }

  /** Returns the calls of an assistant's message: native calls, or calls in the text that the template takes apart. */
  callsOf(message: Message): readonly ToolCall[] {
    return message.tool_calls ?? this.#splitReply?.(this.cutEnd(messageText(message))).calls ?? [];
  }

  #displayRole(role: string): string {
    if (this.#probed.variables.drop_tool_roles) return role;
    const cached = this.#displayRoles.get(role);
    if (cached !== undefined) return cached;
    const displayed = findDisplayRole(role, this.#probed);
    this.#displayRoles.set(role, displayed);
    return displayed;
  }
}

function isToken(token: unknown): token is string {
  return typeof token === "string" && token !== "";
}

/** Options of {@linkcode renderChat}. */
export type RenderChatOptions = ChatFormatOptions & Omit<RenderOptions, "marks">;

/**
 * Renders a chat as text. To render many chats, create a {@linkcode ChatFormat}.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { renderChat } from "@paddock/paddock/chat";
 *
 * const text = renderChat([{ role: "user", content: "Hello" }], { family: "chatml" });
 * assertEquals(text, "<|im_start|>user\nHello<|im_end|>\n");
 * ```
 *
 * @throws {TypeError} if neither a template nor a tokenizer is given, or a message's role is invalid.
 * @throws {RangeError} if there is no template of that name.
 * @throws {SyntaxError} if the template is not valid Jinja.
 */
export function renderChat(messages: Iterable<Message>, options: RenderChatOptions): string {
  requireKnownOptions("call renderChat", options, {
    ...CHAT_FORMAT_OPTIONS,
    addGenerationPrompt: true,
    tools: true,
    time: true,
  });
  return new ChatFormat(pickKnownOptions(options, CHAT_FORMAT_OPTIONS)).render(messages, options);
}

/** Names of the options. */
export const CHAT_FORMAT_OPTIONS: Readonly<Record<keyof ChatFormatOptions, true>> = {
  templates: true,
  templateKwargs: true,
  trusted: true,
  now: true,
  chatTemplate: true,
  family: true,
  tokenizer: true,
};
