import type { Message, ToolSpec } from "../message.ts";
import { type ChatTemplate, type GenerationMarks, JinjaTemplate } from "./chat_template.ts";
import { ChatTemplates, type ChooseTemplateOptions } from "./chat_templates.ts";
import { controlTokenEscaper, findTurnMarkers } from "./control_tokens.ts";
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
   * `drop_tool_roles`, dialogpt, falcon and deepseek omit tool messages as TorchRL does, so the model does
   * not see them.
   */
  templateKwargs?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Roles whose text is rendered unchanged, including its control tokens. Use `assistant` for text that was
   * sampled as ids and decoded.
   *
   * @default []
   */
  trusted?: readonly string[] | undefined;
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
}

/**
 * Renders chats for one model, with a template, the tokenizer's special tokens, and variables.
 *
 * A message cannot open or close a turn. Control tokens in contents, names, call arguments and tool
 * descriptions are broken by a zero-width space. So are separators that the template writes between turns,
 * such as `[/INST]`, and `User:` at the start of a line if the template names speakers so. A token that ends
 * a turn is removed from the end of an assistant's text, since the template writes one. Parts of a message
 * that are not text are omitted. Among the built-in families, only qwen writes `tool_calls`.
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
  readonly #jinja: JinjaTemplate;
  readonly #variables: Readonly<Record<string, unknown>>;
  readonly #trusted: readonly string[];
  readonly #escapeAssistant: (text: string) => string;
  readonly #escapeOthers: (text: string) => string;
  readonly #displayRoles = new Map<string, string>();

  /**
   * @throws {TypeError} if neither a template nor a tokenizer is given.
   * @throws {RangeError} if there is no template of that name.
   * @throws {SyntaxError} if the template is not valid Jinja.
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
    const controlTokens = [...controls, ...tokenizer?.specialTokens ?? [], bos, eos].filter(isToken);
    this.endTokens = [...new Set([...this.#findEndTokens(controlTokens), ...[eos].filter(isToken)])];
    const markers = findTurnMarkers(this.#jinja, this.#variables, controlTokens);
    this.#escapeAssistant = controlTokenEscaper({ controls: controlTokens, speakers });
    this.#escapeOthers = controlTokenEscaper({
      controls: [...controlTokens, ...markers.controls],
      speakers: [...speakers, ...markers.speakers],
    });
  }

  /** True if the template marks the assistant's part with `{% generation %}`. */
  get hasGenerationTags(): boolean {
    return this.#jinja.hasGenerationTags;
  }

  /**
   * Renders a chat as text.
   *
   * @throws {TypeError} if a message's role is empty, or contains a line break or a control token.
   * @throws {Error} if the template rejects the chat.
   */
  render(messages: Iterable<Message>, options: RenderOptions = {}): string {
    const { addGenerationPrompt = false, tools = [], marks } = options;
    const variables = {
      messages: this.toTemplateMessages(messages),
      tools: tools.length === 0 ? null : this.toTemplateTools(tools),
      add_generation_prompt: addGenerationPrompt,
      ...this.#variables,
    };
    return this.#jinja.render(variables, marks);
  }

  /**
   * Returns the messages that the template gets: with its roles, and with control tokens broken.
   *
   * @throws {TypeError} if a message's role is empty, or contains a line break or a control token.
   */
  toTemplateMessages(messages: Iterable<Message>): TemplateMessage[] {
    return toTemplateMessages(messages, {
      escapeControlTokens: (text, role) => this.neutralise(text, role),
      stripEndToken: (text) => this.cutEnd(text),
      hasToolResponseTags: this.template.source.includes("<tool_response>"),
      trusted: this.#trusted,
      displayRole: (role) => this.#displayRole(role),
    });
  }

  /** Returns the tools that the template gets, with control tokens broken. */
  toTemplateTools(tools: readonly ToolSpec[]): object[] {
    return toTemplateTools(tools, this.#escapeOthers);
  }

  /**
   * Breaks control tokens in a text, as it is done when a message of this role is rendered. For all roles but
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

  #displayRole(role: string): string {
    if (this.#variables.drop_tool_roles) return role;
    const cached = this.#displayRoles.get(role);
    if (cached !== undefined) return cached;
    const displayed = findDisplayRole(role, this.#jinja, this.#variables);
    this.#displayRoles.set(role, displayed);
    return displayed;
  }

  /** Returns the control tokens that the template can write directly after an assistant's text. */
  #findEndTokens(controls: readonly string[]): string[] {
    const placeholder = "\ue000";
    const messages = [{ role: "user", content: "-" }, { role: "assistant", content: placeholder }];
    try {
      const text = this.#jinja.render({ messages, tools: null, ...this.#variables });
      const suffix = text.slice(text.indexOf(placeholder) + placeholder.length);
      return controls.filter((control) => suffix.startsWith(control));
    } catch {
      return []; // A template that rejects even this chat throws again when a chat is rendered.
    }
  }
}

function isToken(token: unknown): token is string {
  return typeof token === "string" && token !== "";
}

/** Options of {@linkcode renderChat}. */
export type RenderChatOptions = ChatFormatOptions & Omit<RenderOptions, "marks">;

/**
 * Renders a chat as text. To render many chats, create one {@linkcode ChatFormat}.
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
  return new ChatFormat(options).render(messages, options);
}

const PLACEHOLDER = "\ue000";
const CALL = { id: "000000000", type: "function", function: { name: "-", arguments: {} } };

/**
 * Returns the role under which a template renders a tool message: the message's own role, or else `tool`.
 *
 * @throws {TypeError} if the template silently drops messages of both roles.
 */
function findDisplayRole(
  role: string,
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
): string {
  const displayed = [role, "tool"].find((role) => isRendered(role, template, variables));
  if (displayed !== undefined) return displayed;
  throw new TypeError(
    `Cannot render message as template '${template.name}' must support its role: ` +
      `it drops messages of role '${role}'`,
  );
}

function isRendered(
  role: string,
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
): boolean {
  const messages = [
    { role: "user", content: "-" },
    { role: "assistant", content: "", tool_calls: [CALL] },
    { role, content: PLACEHOLDER, name: "-", tool_call_id: CALL.id },
  ];
  try {
    return template.render({ messages, tools: null, ...variables }).includes(PLACEHOLDER);
  } catch {
    return true; // The template rejects the message with an error, and does so again when the chat is rendered.
  }
}
