import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { CHAT_FORMAT_OPTIONS, ChatFormat, type ChatFormatOptions } from "../chat/chat_format.ts";
import { isAppendOnly, turnTokens } from "../chat/turns.ts";
import { requireTokenIds, type Tokenizer } from "../chat/tokenizer.ts";
import type { Action } from "../envs/action.ts";
import type { Observation, Step } from "../envs/env.ts";
import type { EpisodeCheckpoint } from "../episode_checkpoint.ts";
import type { History } from "../history.ts";
import { findAddedMessages, type ToolSpec } from "../message.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode IncrementalTokenizer}. */
export interface IncrementalTokenizerOptions extends ChatFormatOptions {
  tokenizer: Tokenizer;
  /**
   * Behaviour when the template changes earlier turns, as some do to remove old thoughts: throw an `error`,
   * or `keep` the sampled and shown tokens.
   * @default "error"
   */
  onRewrite?: "error" | "keep" | undefined;
}

/** Content of the last observation. */
interface Shown {
  readonly history: History;
  readonly tools: readonly ToolSpec[];
  readonly text: string;
  readonly ids: readonly number[];
  /** Time that the template's clock shows in the whole episode. */
  readonly time: Date;
  /** The rendered chat, if the template can change earlier turns. */
  readonly rendered: string | undefined;
}

/**
 * Adds each prompt as text and as token ids. Ids are only appended: sampled ids (`action.tokens`) stay
 * unchanged. New content is encoded and appended: the end of the turn unless sampled, the messages of
 * tools and users, and the next generation prompt. Append this transform after the tools.
 *
 * A template that renders each turn independently of its position gets only the new messages, so a turn
 * costs the same for any length of chat, except for the copy of the chat's ids. Other templates get the complete
 * chat in each turn and must not change their earlier output.
 */
export class IncrementalTokenizer implements Transform {
  readonly #options: IncrementalTokenizerOptions;
  readonly #format: ChatFormat;
  readonly #tokenizer: Tokenizer;
  readonly #keep: boolean;
  readonly #keepsTurns = new Map<boolean, boolean>();
  #shown: Shown | undefined;

  /**
   * @throws {TypeError} when `tokenizer` is missing.
   * @throws {RangeError} when there is no template with the name.
   * @throws {SyntaxError} when the template is not valid Jinja.
   */
  constructor(options: IncrementalTokenizerOptions) {
    requireKnownOptions("create IncrementalTokenizer", options, { ...CHAT_FORMAT_OPTIONS, onRewrite: true });
    if (options.tokenizer === undefined) {
      throw new TypeError("Cannot tokenize chats as 'tokenizer' must be given: it is missing");
    }
    this.#options = options;
    this.#format = new ChatFormat(pickKnownOptions(options, CHAT_FORMAT_OPTIONS));
    this.#tokenizer = options.tokenizer;
    this.#keep = options.onRewrite === "keep";
  }

  reset(observation: Observation): Observation {
    const { history: { prompt }, tools = [] } = observation;
    const time = this.#format.now();
    const text = this.#format.render(prompt, { addGenerationPrompt: true, tools, time });
    const rendered = this.#isWatched(tools) ? text : undefined;
    this.#shown = { history: prompt, tools, text, ids: this.#tokenizer.encode(text), time, rendered };
    return withTokens(observation, this.#shown);
  }

  /**
   * @throws {TypeError} when a sampled id is not in the tokenizer's vocabulary.
   * @throws {Error} when the new prompt does not continue the last prompt.
   */
  step(step: Step, { action }: TransformContext): Step {
    const shown = this.#shown;
    if (shown === undefined) throw new Error("Cannot tokenize step as the transform must be reset first");
    const { history: { prompt }, tools = shown.tools } = step;
    if (tools !== shown.tools && JSON.stringify(tools) !== JSON.stringify(shown.tools)) {
      throw new Error("Cannot tokenize step as the tools must not change after the reset: they have changed");
    }
    const [reply, ...messages] = findAddedMessages(shown.history, prompt, refuseChange);
    if (reply === undefined) return withTokens(step, shown);
    const { time } = shown;
    const watched = shown.rendered !== undefined;
    const rendered = watched ? this.#renderUnchanged(shown.rendered, prompt, { tools, time }) : undefined;
    const sampled = action === undefined || action.skip ? undefined : sampledIds(action, shown.ids);
    if (sampled !== undefined) requireTokenIds(sampled, this.#tokenizer, "tokens.response");
    const before = watched ? shown.history : undefined;
    const turn = turnTokens({ reply, sampled, messages, tools, before, time }, this.#format);
    const text = shown.text + turn.text;
    this.#shown = { history: prompt, tools, text, ids: shown.ids.concat(turn.ids), time, rendered };
    return withTokens(step, this.#shown);
  }

  /** {@inheritDoc Transform.checkpoint} */
  checkpoint(): EpisodeCheckpoint<IncrementalTokenizer> {
    const shown = this.#shown;
    return {
      copy: () => {
        const copy = new IncrementalTokenizer(this.#options);
        copy.#shown = shown;
        return copy;
      },
    };
  }

  #isWatched(tools: readonly ToolSpec[]): boolean {
    if (this.#keep) return false;
    const withTools = tools.length > 0;
    const cached = this.#keepsTurns.get(withTools);
    const keeps = cached ?? isAppendOnly(this.#format, tools);
    this.#keepsTurns.set(withTools, keeps);
    return !keeps;
  }

  #renderUnchanged(
    before: string,
    prompt: History,
    options: { tools: readonly ToolSpec[]; time: Date },
  ): string {
    const text = this.#format.render(prompt, { ...options, addGenerationPrompt: true });
    if (text.startsWith(before)) return text;
    throw new Error(
      `Cannot tokenize step as template '${this.#format.template.name}' must not change its earlier output: ` +
        "it does, so set 'onRewrite' to 'keep' or use another template",
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
    "Cannot tokenize step as 'tokens.full' must start with the prompt: found other ids",
  );
}
