import type { ChatFormat } from "../../chat/chat_format.ts";
import { turnRest } from "../../chat/turn_rest.ts";
import { TokenError } from "../../errors.ts";
import { messageText } from "../../message.ts";
import type { ToolSpec } from "../../tool_spec.ts";
import type { TokenFormat } from "./token_format.ts";
import type { Turn, TurnEnd, TurnWriter } from "./turn_writer.ts";

/** How an {@linkcode AppendWriter} writes. */
export interface AppendWriterOptions {
  tools: readonly ToolSpec[];
  /** What to do when the template writes earlier turns anew; an `error` unless given. */
  onRewrite?: "error" | "keep" | undefined;
}

/**
 * Writes a turn from the turn alone, so that it costs the same however long the episode is.
 *
 * A template that was not found to write a turn the same way wherever it stands is watched: it is given the whole
 * chat in each turn, and what it wrote before must stay. With `onRewrite: "keep"` it is not, and what was sampled
 * and shown stays as it was.
 */
export class AppendWriter implements TurnWriter {
  readonly #format: ChatFormat;
  readonly #tools: readonly ToolSpec[];
  readonly #isWatched: boolean;

  constructor(format: TokenFormat, options: AppendWriterOptions) {
    const { tools, onRewrite = "error" } = options;
    this.#format = format.chat;
    this.#isWatched = onRewrite === "error" && !format.keepsTurns(tools);
    // a turn that is written the same way wherever it stands is so without tools too, and costs less
    this.#tools = !this.#isWatched && format.keepsTurns([]) ? [] : tools;
  }

  write(turn: Turn, { addGenerationPrompt }: TurnEnd): string {
    const { before, ...added } = turn;
    const context = this.#isWatched ? { before } : {};
    if (this.#isWatched) this.#requireKept(turn);
    const whole = { ...added, ...context, tools: this.#tools };
    return turnRest(whole, this.#format, { addGenerationPrompt });
  }

  /** Prefix and delta must be the whole: what was written, the reply as it was said, and what is behind it. */
  #requireKept({ before, reply, messages }: Turn): void {
    const tools = this.#tools;
    const prefix = this.#format.render(before, { addGenerationPrompt: true, tools });
    const said = this.#format.cutEnd(messageText(reply));
    const turn = { before, reply, messages, tools, sampled: [] };
    const delta = said + turnRest(turn, this.#format, { addGenerationPrompt: false });
    if (this.#format.render([...before, reply, ...messages], { tools }) === prefix + delta) return;
    throw new TokenError(
      `Cannot append turn as template '${this.#format.template.name}' must keep what it wrote before: it ` +
        "rewrites it, so set 'onRewrite' to 'keep', or take the token mode 'rerender'",
    );
  }
}
