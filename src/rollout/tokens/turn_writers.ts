import type { ChatFormat } from "../../chat/chat_format.ts";
import { renderTurnSuffix } from "../../chat/turns.ts";
import { TokenError } from "../../errors.ts";
import { type Message, messageText, type ToolSpec } from "../../message.ts";
import type { TokenFormat } from "./token_format.ts";

/** Turn to be written after the tokens of an episode. */
export interface Turn {
  /** Messages before the reply. */
  readonly before: readonly Message[];
  readonly reply: Message;
  /** Sampled ids, with the token that ended the reply if it was sampled. */
  readonly sampled: readonly number[];
  /** Messages after the reply: tool results and the next user message. */
  readonly messages: readonly Message[];
}

/** End of a turn. */
export interface TurnEnd {
  /** True if another reply follows: the text then ends with the header of the assistant's next turn. */
  readonly addGenerationPrompt: boolean;
}

/** Renders the text that a turn adds to an episode's tokens. Throws a `TokenError` if it cannot. */
export interface TurnWriter {
  /** Returns the text after the sampled tokens: the end of the turn, unless it was sampled, and the later messages. */
  renderRest(turn: Turn, end: TurnEnd): string;
  /** Returns the next prompt of the policy; `undefined` if it is the text written so far. */
  renderPrompt?(messages: readonly Message[]): string;
}

/** Options of {@linkcode AppendWriter}. */
export interface AppendWriterOptions {
  tools: readonly ToolSpec[];
  /**
   * Behaviour if the template rewrites earlier turns.
   *
   * @default "error"
   */
  onRewrite?: "error" | "keep" | undefined;
}

/**
 * Renders each turn on its own, so the cost of a turn does not depend on the length of the episode.
 *
 * If the template may rewrite earlier turns, it renders the whole chat in each turn and checks that the earlier text is
 * unchanged. With `onRewrite: "keep"` there is no check, and the earlier tokens stay as sampled and shown.
 */
export class AppendWriter implements TurnWriter {
  readonly #format: ChatFormat;
  readonly #tools: readonly ToolSpec[];
  readonly #checksRewrites: boolean;

  constructor(format: TokenFormat, options: AppendWriterOptions) {
    const { tools, onRewrite = "error" } = options;
    this.#format = format.chat;
    this.#checksRewrites = onRewrite === "error" && !format.isAppendOnly(tools);
    // an append-only template renders a turn the same way without tools, which costs less
    this.#tools = !this.#checksRewrites && format.isAppendOnly([]) ? [] : tools;
  }

  renderRest(turn: Turn, { addGenerationPrompt }: TurnEnd): string {
    const { before, ...added } = turn;
    const context = this.#checksRewrites ? { before } : {};
    if (this.#checksRewrites) this.#requireUnchanged(turn);
    const rendered = { ...added, ...context, tools: this.#tools };
    return renderTurnSuffix(rendered, this.#format, { addGenerationPrompt });
  }

  /** Checks that the rendered chat equals the earlier text, the reply and the text after it, concatenated. */
  #requireUnchanged({ before, reply, messages }: Turn): void {
    const tools = this.#tools;
    const prefix = this.#format.render(before, { addGenerationPrompt: true, tools });
    const text = this.#format.cutEnd(messageText(reply));
    const turn = { before, reply, messages, tools, sampled: [] };
    const delta = text + renderTurnSuffix(turn, this.#format, { addGenerationPrompt: false });
    if (this.#format.render([...before, reply, ...messages], { tools }) === prefix + delta) return;
    throw new TokenError(
      `Cannot append turn as template '${this.#format.template.name}' must not rewrite earlier turns: it ` +
        "does, so set 'onRewrite' to 'keep', or use the token mode 'rerender'",
    );
  }
}

/**
 * Renders a turn as the difference of the whole chat before and after it: slime's token delta.
 *
 * It supports templates that rewrite earlier turns, as Qwen3's does to remove old thoughts. Each prompt is the chat as
 * the template renders it at that time, while the episode's tokens keep every turn as it was when it was new. Text
 * that a template puts between a generation prompt and a reply, such as an empty thought, is left out, because the
 * reply was sampled without it. The cost of a turn grows with the length of the chat.
 */
export class RerenderWriter implements TurnWriter {
  readonly #format: ChatFormat;
  readonly #tools: readonly ToolSpec[];

  constructor(format: TokenFormat, options: { tools: readonly ToolSpec[] }) {
    this.#format = format.chat;
    this.#tools = options.tools;
  }

  renderPrompt(messages: readonly Message[]): string {
    return this.#format.render(messages, { addGenerationPrompt: true, tools: this.#tools });
  }

  renderRest(turn: Turn, { addGenerationPrompt }: TurnEnd): string {
    const { before, reply, messages } = turn;
    const rendered = this.#render([...before, reply]);
    const chat = messages.length === 0 ? rendered : this.#render([...before, reply, ...messages]);
    const end = this.#endOf(turn, rendered);
    const rest = chat.startsWith(rendered) ? end + chat.slice(rendered.length) : this.#standalone(turn, chat);
    if (!addGenerationPrompt) return rest;
    return rest + this.#header([...before, reply, ...messages], chat);
  }

  /** Returns the template's text after the reply. The sampled text itself stays unchanged. */
  #endOf({ before, reply, sampled }: Turn, rendered: string): string {
    const renderPrompt = this.#format.render(before, { addGenerationPrompt: true });
    if (!rendered.startsWith(renderPrompt)) {
      this.#fail("the rendered reply must start with its generation prompt: found another start");
    }
    return renderTurnSuffix({ before, reply, sampled }, this.#format, { addGenerationPrompt: false });
  }

  /** Renders the turn's text on its own, if the template rewrote earlier text. */
  #standalone({ reply, sampled, messages }: Turn, chat: string): string {
    const rest = renderTurnSuffix({ reply, sampled, messages }, this.#format, { addGenerationPrompt: false });
    if (chat.endsWith(rest)) return rest;
    return this.#fail("the newest messages must be rendered as they are alone: found a different text");
  }

  #header(messages: readonly Message[], chat: string): string {
    const text = this.#format.render(messages, { addGenerationPrompt: true });
    if (text.startsWith(chat)) return text.slice(chat.length);
    return this.#fail("a generation prompt must not change the chat: it rewrites the chat");
  }

  #render(messages: readonly Message[]): string {
    return this.#format.render(messages);
  }

  #fail(reason: string): never {
    throw new TokenError(`Cannot write turn with template '${this.#format.template.name}' as ${reason}`);
  }
}
