import type { ChatFormat } from "../../chat/chat_format.ts";
import { renderTurnSuffix } from "../../chat/turn_rest.ts";
import { TokenError } from "../../errors.ts";
import type { Message } from "../../message.ts";
import type { ToolSpec } from "../../tool_spec.ts";
import type { TokenFormat } from "./token_format.ts";
import type { Turn, TurnEnd, TurnWriter } from "./turn_writer.ts";

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
