import { pickKnownOptions } from "../../options.ts";
import type { Observation } from "../../envs/env.ts";
import { errorMessage, TokenError } from "../../errors.ts";
import type { History } from "../../history.ts";
import { findAddedMessages, type Message, type ToolSpec } from "../../message.ts";
import type { RecordedChat, Reply } from "../../policy/policy.ts";
import type { EpisodeTokens } from "../trajectory.ts";
import { requireSamePrompt } from "./prompt_difference.ts";
import {
  createTurnWriter,
  type TokenMode,
  type Turn,
  type TurnEnd,
  type TurnWriter,
} from "./turn_writers.ts";
import { type SampledReply, toSampledReply } from "./sampled_reply.ts";
import { type BufferPosition, TokenBuffer } from "./token_buffer.ts";
import { TOKEN_FORMAT_OPTIONS, TokenFormat, type TokenFormatOptions } from "./token_format.ts";

/** Options of {@linkcode EpisodeWriter}. */
export interface TokenOptions extends TokenFormatOptions {
  /**
   * Mode of writing tokens.
   *
   * @default "append"
   */
  mode?: TokenMode | undefined;
  /**
   * Behaviour in the mode `append` if the template rewrites earlier turns: fail with an `error`, or `keep` the earlier
   * tokens as sampled and shown.
   *
   * @default "error"
   */
  onRewrite?: "error" | "keep" | undefined;
  /** Edits each complete prompt of the template before the encoding. */
  editPrompt?: ((text: string) => string) | undefined;
  /**
   * Format made from these options, to share it between episodes.
   *
   * @default a new format
   */
  format?: TokenFormat | undefined;
}

const { tokenizer: _tokenizer, ...FORMAT_OPTIONS } = TOKEN_FORMAT_OPTIONS;

/** Names of the options beside the tokenizer. */
export const EPISODE_TOKEN_OPTIONS: Readonly<Record<Exclude<keyof TokenOptions, "tokenizer">, true>> = {
  ...FORMAT_OPTIONS,
  mode: true,
  onRewrite: true,
  editPrompt: true,
  format: true,
};

/** Prompt for the policy, as text and ids. */
export interface Prompt {
  readonly text: string;
  readonly ids: readonly number[];
}

/** Turn whose end may still change. */
interface OpenTurn {
  readonly turn: Turn;
  readonly sampled: SampledReply;
  /** Position where the turn begins. */
  readonly mark: BufferPosition;
}

/**
 * Writes the tokens of a running episode: the prompt, then for each turn the sampled tokens with loss mask 1, and the
 * tokens of the env and the template with 0.
 *
 * The writer checks each turn: the server's prompt must be the recorded ids, the sampled ids must match the reply's text,
 * all other ids must decode to the encoded text, and the chat must extend the previous chat. A mismatch is a `TokenError`;
 * earlier tokens stay.
 */
export class EpisodeWriter {
  readonly #options: TokenOptions;
  readonly #format: TokenFormat;
  #buffer: TokenBuffer;
  #writer: TurnWriter | undefined;
  #history: readonly Message[] = [];
  #tools: readonly ToolSpec[] = [];
  #promptMessages = 0;
  #first: Prompt = { text: "", ids: [] };
  /** Next prompt, if different from the tokens written so far. */
  #nextPrompt: Prompt | undefined;
  #rewritten = 0;
  /** Reply that the env has not responded to. */
  #reply: OpenTurn | undefined;
  #last: OpenTurn | undefined;

  /**
   * @throws {TypeError} if the tokenizer is missing, or the template cannot be written in this mode.
   * @throws {RangeError} if the mode or the template is unknown.
   * @throws {SyntaxError} if the template is not valid Jinja.
   */
  constructor(options: TokenOptions) {
    const {
      mode = "append",
      onRewrite,
      format = new TokenFormat(pickKnownOptions(options, TOKEN_FORMAT_OPTIONS)),
      tokenizer,
    } = options;
    if (mode !== "append" && mode !== "rerender") {
      throw new RangeError(
        `Cannot write tokens as 'mode' must be 'append' or 'rerender': current value is '${mode}'`,
      );
    }
    format.requireWritable({ mode, onRewrite });
    this.#options = options;
    this.#format = format;
    this.#buffer = new TokenBuffer(tokenizer);
  }

  /** Returns a separate writer with the same tokens. */
  copy(): EpisodeWriter {
    const copy = new EpisodeWriter({ ...this.#options, format: this.#format });
    copy.#buffer = this.#buffer.copyTo(this.#buffer.position);
    copy.#writer = this.#writer;
    copy.#history = this.#history;
    copy.#tools = this.#tools;
    copy.#promptMessages = this.#promptMessages;
    copy.#first = this.#first;
    copy.#nextPrompt = this.#nextPrompt;
    copy.#rewritten = this.#rewritten;
    copy.#reply = this.#reply;
    copy.#last = this.#last;
    return copy;
  }

  /** Prompt of the next reply. */
  get prompt(): Prompt {
    return this.#nextPrompt ?? { text: this.#buffer.text, ids: this.#buffer.ids.slice() };
  }

  /** Returns the chat of the next prompt, in the template's form. */
  recordedChat(): RecordedChat {
    return this.#format.recordedChat(this.#history, this.#tools);
  }

  /** Starts the episode. */
  start({ history: { prompt }, tools = [] }: Observation): void {
    const { mode = "append", onRewrite } = this.#options;
    this.#history = [...prompt];
    this.#tools = tools;
    const time = this.#format.chat.now();
    this.#writer = createTurnWriter(this.#format, { mode, onRewrite, tools, time });
    const text = withTokenErrors(() =>
      this.#format.chat.render(prompt, { addGenerationPrompt: true, tools, time })
    );
    this.#buffer.addText(this.#editPrompt(text));
    this.#first = this.prompt;
    this.#promptMessages = prompt.length;
  }

  /**
   * Adds the reply to the prompt, and returns the reply's tokens and their position.
   *
   * @throws {TokenError} if the server had another prompt, or the reply's ids do not match the text.
   */
  reply(reply: Reply): SampledReply & { readonly start: number } {
    const { message, promptIds } = reply;
    if (promptIds !== undefined) {
      requireSamePrompt({ server: promptIds, recorded: this.prompt.ids }, this.#options.tokenizer);
    }
    if (message.role !== "assistant") {
      throw new TokenError(
        `Cannot write reply as its role must be 'assistant': current value is '${message.role}'`,
      );
    }
    const sampled = toSampledReply(reply, this.#format.chat, this.#options.tokenizer);
    const turn = { before: this.#history, reply: message, sampled: sampled.ids, messages: [] };
    const open = { turn, sampled, mark: this.#buffer.position };
    this.#write(turn, { addGenerationPrompt: false });
    this.#reply = open;
    return { ...sampled, start: open.mark.ids };
  }

  /** Drops a reply that the env rejected. */
  drop(): void {
    this.#reply = undefined;
  }

  /** Adds the chat after the env's step: the reply and the following messages. */
  step(history: History): void {
    const open = this.#reply;
    if (open === undefined) {
      throw new TypeError("Cannot write step before a reply: call reply() first");
    }
    const [reply, ...messages] = findAddedMessages(this.#history, history, throwChanged);
    if (reply === undefined) return this.drop();
    const turn = { ...open.turn, reply, messages };
    const rest = this.#write(turn, { addGenerationPrompt: true });
    const prompt = withTokenErrors(() => this.#writer?.renderPrompt?.([...history]));
    this.#buffer.addTurn(open.sampled, rest);
    this.#last = { ...open, turn };
    this.#reply = undefined;
    this.#history = [...history];
    this.#setNextPrompt(prompt);
  }

  /**
   * Returns the tokens of the episode so far, up to the end of the last message. A last reply that was cut off has no end:
   * the tokens are then only the sampled tokens.
   */
  tokens(): EpisodeTokens {
    const { ids, lossMask, logProbs, hasLogProbs } = this.#endedBuffer();
    return {
      ids,
      lossMask,
      promptText: this.#first.text,
      promptLength: this.#first.ids.length,
      promptMessages: this.#promptMessages,
      ...(hasLogProbs && { logProbs }),
      rewrittenPrompts: this.#rewritten,
    };
  }

  #endedBuffer(): TokenBuffer {
    for (const open of [this.#reply, this.#last]) {
      if (open === undefined) continue;
      const buffer = this.#buffer.copyTo(open.mark);
      try {
        const isCut = open.turn.reply.is_complete === false && open.turn.messages.length === 0;
        buffer.addTurn(open.sampled, isCut ? "" : this.#write(open.turn, { addGenerationPrompt: false }));
        return buffer;
      } catch (error) {
        if (!(error instanceof TokenError)) throw error; // the turn that failed is left out
      }
    }
    return this.#buffer.copyTo({ ids: this.#first.ids.length, text: this.#first.text.length });
  }

  #setNextPrompt(rendered: string | undefined): void {
    if (rendered === undefined) return;
    const text = this.#editPrompt(rendered);
    const ids = this.#options.tokenizer.encode(text);
    this.#nextPrompt = { text, ids };
    if (!hasSameIds(ids, this.#buffer.ids)) this.#rewritten++;
  }

  #editPrompt(text: string): string {
    return this.#options.editPrompt?.(text) ?? text;
  }

  #write(turn: Turn, end: TurnEnd): string {
    const writer = this.#writer;
    if (writer === undefined) throw new TypeError("Cannot write tokens before the episode is started");
    return withTokenErrors(() => writer.renderRest(turn, end));
  }
}

/** Runs a function and converts errors to `TokenError`. */
function withTokenErrors<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof TokenError) throw cause;
    throw new TokenError(errorMessage(cause), { cause });
  }
}

function hasSameIds(ids: readonly number[], others: readonly number[]): boolean {
  return ids.length === others.length && ids.every((id, at) => id === others[at]);
}

function throwChanged(index: number, found: string): never {
  throw new TokenError(
    `Cannot write step as the chat must not change earlier messages: message ${index} is ${found}`,
  );
}
