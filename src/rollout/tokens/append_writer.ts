import type { ChatFormat } from "../../chat/chat_format.ts";
import { keepsTurns } from "../../chat/keeps_turns.ts";
import { turnRest } from "../../chat/turn_rest.ts";
import { TokenError } from "../../errors.ts";
import type { Message } from "../../message.ts";
import type { ToolSpec } from "../../tool_spec.ts";
import type { Turn, TurnEnd, TurnWriter, WrittenTurn } from "./turn_writer.ts";

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

  constructor(format: ChatFormat, options: AppendWriterOptions) {
    const { tools, onRewrite = "error" } = options;
    this.#format = format;
    this.#isWatched = onRewrite === "error" && !keepsTurns(format, tools);
    this.#tools = this.#isWatched || !keepsTurns(format) ? tools : [];
  }

  write(turn: Turn, { addGenerationPrompt }: TurnEnd): WrittenTurn {
    const { before, ...added } = turn;
    const context = this.#isWatched ? { before } : {};
    if (this.#isWatched) this.#requireKept(turn);
    const whole = { ...added, ...context, tools: this.#tools };
    return { opening: "", rest: turnRest(whole, this.#format, { addGenerationPrompt }) };
  }

  #requireKept({ before, reply, messages }: Turn): void {
    const written = this.#render(before);
    if (this.#render([...before, reply, ...messages]).startsWith(written)) return;
    throw new TokenError(
      `Cannot append turn as template '${this.#format.template.name}' must keep what it wrote before: it ` +
        "rewrites it, so set 'onRewrite' to 'keep', or take the token mode 'rerender'",
    );
  }

  #render(messages: readonly Message[]): string {
    return this.#format.render(messages, { tools: this.#tools });
  }
}
