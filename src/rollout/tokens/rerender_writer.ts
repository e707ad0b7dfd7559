import type { ChatFormat } from "../../chat/chat_format.ts";
import { turnRest } from "../../chat/turn_rest.ts";
import { TokenError } from "../../errors.ts";
import type { Message } from "../../message.ts";
import type { ToolSpec } from "../../tool_spec.ts";
import type { TokenFormat } from "./token_format.ts";
import type { Turn, TurnEnd, TurnWriter } from "./turn_writer.ts";

/**
 * Writes a turn as the difference of the whole chat rendered before and behind it: slime's token delta.
 *
 * It goes along with templates that write earlier turns anew, as Qwen3's does to leave out old thoughts: each
 * prompt is the chat as the template writes it then, and the episode's tokens keep every turn as it was when it
 * was the newest. What a template puts between a generation prompt and a reply, as an empty thought, is left out,
 * for the reply was sampled without it. A turn costs as much as the chat is long.
 */
export class RerenderWriter implements TurnWriter {
  readonly #format: ChatFormat;
  readonly #tools: readonly ToolSpec[];

  constructor(format: TokenFormat, options: { tools: readonly ToolSpec[] }) {
    this.#format = format.chat;
    this.#tools = options.tools;
  }

  prompt(messages: readonly Message[]): string {
    return this.#format.render(messages, { addGenerationPrompt: true, tools: this.#tools });
  }

  write(turn: Turn, { addGenerationPrompt }: TurnEnd): string {
    const { before, reply, messages } = turn;
    const written = this.#render([...before, reply]);
    const whole = messages.length === 0 ? written : this.#render([...before, reply, ...messages]);
    const end = this.#endOf(turn, written);
    const rest = whole.startsWith(written)
      ? end + whole.slice(written.length)
      : this.#standalone(turn, whole);
    if (!addGenerationPrompt) return rest;
    return rest + this.#header([...before, reply, ...messages], whole);
  }

  /** What the template puts behind the reply; what was sampled stays as it was said, should that be rewritten. */
  #endOf({ before, reply, sampled }: Turn, written: string): string {
    const prompt = this.#format.render(before, { addGenerationPrompt: true });
    if (!written.startsWith(prompt)) this.#refuse("the reply must extend its generation prompt: it does not");
    return turnRest({ before, reply, sampled }, this.#format, { addGenerationPrompt: false });
  }

  /** The turn's text rendered on its own, where the template wrote something before it anew. */
  #standalone({ reply, sampled, messages }: Turn, whole: string): string {
    const rest = turnRest({ reply, sampled, messages }, this.#format, { addGenerationPrompt: false });
    if (whole.endsWith(rest)) return rest;
    return this.#refuse("the newest messages must end the chat as they would alone: they do not");
  }

  #header(messages: readonly Message[], whole: string): string {
    const text = this.#format.render(messages, { addGenerationPrompt: true });
    if (text.startsWith(whole)) return text.slice(whole.length);
    return this.#refuse("a generation prompt must leave the chat as it is: it rewrites it");
  }

  #render(messages: readonly Message[]): string {
    return this.#format.render(messages);
  }

  #refuse(reason: string): never {
    throw new TokenError(`Cannot write turn with template '${this.#format.template.name}' as ${reason}`);
  }
}
