import { ChatFormat, type ChatFormatOptions } from "../chat/chat_format.ts";
import { keepsTurns } from "../chat/keeps_turns.ts";
import { requireIds } from "../chat/require_ids.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { turnTokens } from "../chat/turn_tokens.ts";
import type { Action, Observation, Step } from "../envs/env.ts";
import type { History } from "../history.ts";
import { addedMessages } from "../added_messages.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** How an {@linkcode IncrementalTokenizer} writes chats. */
export interface IncrementalTokenizerOptions extends ChatFormatOptions {
  tokenizer: Tokenizer;
  /**
   * What to do when the template writes earlier turns anew, as some do to leave out old thoughts: fail with an
   * `error`, which is what happens unless given, or `keep` what was sampled and shown.
   */
  onRewrite?: "error" | "keep" | undefined;
}

/** What the last observation told the policy. */
interface Shown {
  readonly history: History;
  readonly tools: readonly ToolSpec[];
  readonly text: string;
  readonly ids: readonly number[];
  /** The chat as the template wrote it, where it has to be watched. */
  readonly rendered: string | undefined;
}

/**
 * Gives each prompt as text and as token ids, which are only ever added to: the ids that were sampled
 * (`action.tokens`) stay as they are, and behind them comes what is new, encoded: the end of the turn unless it
 * was sampled, the messages of tools and users, and the next generation prompt. Append it behind the tools.
 *
 * A template that writes turns the same way wherever they stand is given the new messages alone, so a turn costs
 * the same however long the chat is, the copy of its ids apart. One that does not is given the whole chat in each
 * turn, and must not change what it wrote before.
 */
export class IncrementalTokenizer implements Transform {
  readonly #format: ChatFormat;
  readonly #tokenizer: Tokenizer;
  readonly #keep: boolean;
  readonly #keepsTurns = new Map<boolean, boolean>();
  #shown: Shown | undefined;

  /**
   * @throws {TypeError} when there is no tokenizer.
   * @throws {RangeError} when no template has the name.
   * @throws {SyntaxError} when the template is no Jinja.
   */
  constructor(options: IncrementalTokenizerOptions) {
    if (options.tokenizer === undefined) {
      throw new TypeError("Cannot tokenize chats as 'tokenizer' must be given: it is missing");
    }
    this.#format = new ChatFormat(options);
    this.#tokenizer = options.tokenizer;
    this.#keep = options.onRewrite === "keep";
  }

  reset(observation: Observation): Observation {
    const { history: { prompt }, tools = [] } = observation;
    const text = this.#format.render(prompt, { addGenerationPrompt: true, tools });
    const rendered = this.#isWatched(tools) ? text : undefined;
    this.#shown = { history: prompt, tools, text, ids: this.#tokenizer.encode(text), rendered };
    return withTokens(observation, this.#shown);
  }

  /**
   * @throws {TypeError} when a sampled id is none of the tokenizer's.
   * @throws {Error} when the new prompt does not go on where the last one ended.
   */
  step(step: Step, { action = {} }: TransformContext): Step {
    const shown = this.#shown;
    if (shown === undefined) throw new Error("Cannot tokenize step as the transform must be reset first");
    const { history: { prompt }, tools = shown.tools } = step;
    if (tools !== shown.tools && JSON.stringify(tools) !== JSON.stringify(shown.tools)) {
      throw new Error("Cannot tokenize step as the tools must stay those of the reset: they are others");
    }
    const [reply, ...messages] = addedMessages(shown.history, prompt, refuseChange);
    if (reply === undefined) return withTokens(step, shown);
    const watched = shown.rendered !== undefined;
    const rendered = watched ? this.#unchanged(shown.rendered, prompt, tools) : undefined;
    const sampled = action.skip ? undefined : sampledIds(action, shown.ids);
    if (sampled !== undefined) requireIds(sampled, this.#tokenizer, "tokens.response");
    const before = watched ? shown.history : undefined;
    const turn = turnTokens({ reply, sampled, messages, tools, before }, this.#format);
    const text = shown.text + turn.text;
    this.#shown = { history: prompt, tools, text, ids: shown.ids.concat(turn.ids), rendered };
    return withTokens(step, this.#shown);
  }

  #isWatched(tools: readonly ToolSpec[]): boolean {
    if (this.#keep) return false;
    const withTools = tools.length > 0;
    const known = this.#keepsTurns.get(withTools);
    const keeps = known ?? keepsTurns(this.#format, tools);
    this.#keepsTurns.set(withTools, keeps);
    return !keeps;
  }

  #unchanged(before: string, prompt: History, tools: readonly ToolSpec[]): string {
    const text = this.#format.render(prompt, { addGenerationPrompt: true, tools });
    if (text.startsWith(before)) return text;
    throw new Error(
      `Cannot tokenize step as template '${this.#format.template.name}' must keep what it wrote before: ` +
        "it rewrites it, so set 'onRewrite' to 'keep' or take another template",
    );
  }
}

function withTokens<T extends Observation>(observation: T, { text, ids }: Shown): T {
  return { ...observation, text: { prompt: text }, tokens: { prompt: ids } };
}

function refuseChange(index: number, is: string): never {
  throw new Error(
    `Cannot tokenize step as the prompt must start with the last one: message ${index} is ${is}`,
  );
}

function sampledIds({ tokens }: Action, before: readonly number[]): readonly number[] | undefined {
  if (tokens?.full === undefined) return tokens?.response;
  if (before.every((id, at) => id === tokens.full?.[at])) return tokens.full.slice(before.length);
  throw new Error(
    "Cannot tokenize step as 'tokens.full' must start with the prompt: it has another beginning",
  );
}
