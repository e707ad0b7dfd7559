import type { ChatFormat } from "../../chat/chat_format.ts";
import { renderTurnSuffix } from "../../chat/turn_rest.ts";
import { TokenError } from "../../errors.ts";
import { messageText } from "../../message.ts";
import type { ToolSpec } from "../../tool_spec.ts";
import type { TokenFormat } from "./token_format.ts";
import type { Turn, TurnEnd, TurnWriter } from "./turn_writer.ts";

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
