import type { Observation } from "../../envs/env.ts";
import { errorMessage, TokenError } from "../../errors.ts";
import type { History } from "../../history.ts";
import { addedMessages } from "../../added_messages.ts";
import type { Message } from "../../message.ts";
import type { Reply } from "../../policy/policy.ts";
import type { EpisodeTokens } from "../episode_tokens.ts";
import { AppendWriter } from "./append_writer.ts";
import { RerenderWriter } from "./rerender_writer.ts";
import { type SampledReply, sampledReply } from "./sampled_reply.ts";
import { type Mark, TokenBuffer } from "./token_buffer.ts";
import { TokenFormat, type TokenFormatOptions } from "./token_format.ts";
import type { Turn, TurnEnd, TurnWriter } from "./turn_writer.ts";

/**
 * How the tokens of an episode come about. `append` keeps each token where it was put and encodes what is new
 * alone; `rerender` goes along with templates that write earlier turns anew, and renders the whole chat each turn.
 */
export type TokenMode = "append" | "rerender";

/** How the tokens of episodes are written. */
export interface TokenOptions extends TokenFormatOptions {
  /** `append` unless given. */
  mode?: TokenMode | undefined;
  /**
   * In `append`, what to do when the template writes earlier turns anew: fail with an `error`, which is what
   * happens unless given, or `keep` what was sampled and shown.
   */
  onRewrite?: "error" | "keep" | undefined;
  /** Changes each whole prompt that the template writes, before it is encoded. */
  editPrompt?: ((text: string) => string) | undefined;
  /** What these options make, where there is one already: many episodes may share it. */
  format?: TokenFormat | undefined;
}

/** What the policy is to answer. */
export interface Prompt {
  readonly text: string;
  readonly ids: readonly number[];
}

/** A reply and what stands behind it, of which the end is still open. */
interface OpenTurn {
  readonly turn: Turn;
  readonly sampled: SampledReply;
  /** Where it begins. */
  readonly mark: Mark;
}

/**
 * Writes the tokens of one episode while it is played: the prompt, and behind it turn after turn what was sampled,
 * with loss mask 1, and what the env and the template put around it, with 0.
 *
 * Each turn is checked: the ids of what was sampled say what the policy says it said, the ids of everything else
 * decode to the text that was encoded, and the chat goes on where it ended. A breach is a `TokenError`, and what
 * was written before stays.
 */
export class EpisodeWriter {
  readonly #options: TokenOptions;
  readonly #format: TokenFormat;
  readonly #buffer: TokenBuffer;
  #writer: TurnWriter | undefined;
  #history: readonly Message[] = [];
  #promptMessages = 0;
  #first: Prompt = { text: "", ids: [] };
  /** The prompt where it is not what was written so far. */
  #asked: Prompt | undefined;
  #rewritten = 0;
  /** A reply that the env has not answered. */
  #reply: OpenTurn | undefined;
  #last: OpenTurn | undefined;

  /**
   * @throws {TypeError} when there is no tokenizer.
   * @throws {RangeError} when there is no such mode, or no template has the name.
   * @throws {SyntaxError} when the template is no Jinja.
   */
  constructor(options: TokenOptions) {
    const { mode = "append", format = new TokenFormat(options), tokenizer } = options;
    if (mode !== "append" && mode !== "rerender") {
      throw new RangeError(
        `Cannot write tokens as 'mode' must be 'append' or 'rerender': current value is '${mode}'`,
      );
    }
    this.#options = options;
    this.#format = format;
    this.#buffer = new TokenBuffer(tokenizer);
  }

  get prompt(): Prompt {
    return this.#asked ?? { text: this.#buffer.text, ids: this.#buffer.ids.slice() };
  }

  /** Begins the episode. */
  start({ history: { prompt }, tools = [] }: Observation): void {
    const { mode = "append", onRewrite } = this.#options;
    this.#history = [...prompt];
    this.#writer = mode === "append"
      ? new AppendWriter(this.#format, { tools, onRewrite })
      : new RerenderWriter(this.#format, { tools });
    const text = asTokens(() => this.#format.chat.render(prompt, { addGenerationPrompt: true, tools }));
    this.#buffer.addText(this.#edited(text));
    this.#first = this.prompt;
    this.#promptMessages = prompt.length;
  }

  /** Takes the reply to the prompt, and tells where its tokens begin and what they are. */
  reply(reply: Reply): SampledReply & { readonly start: number } {
    const { message } = reply;
    if (message.role !== "assistant") {
      throw new TokenError(`Cannot take reply as the assistant must speak: '${message.role}' does`);
    }
    const sampled = sampledReply(reply, this.#format.chat, this.#options.tokenizer);
    const turn = { before: this.#history, reply: message, sampled: sampled.ids, messages: [] };
    const open = { turn, sampled, mark: this.#buffer.mark };
    this.#write(turn, { addGenerationPrompt: false });
    this.#reply = open;
    return { ...sampled, start: open.mark.ids };
  }

  /** Forgets the reply, as the episode did not take it. */
  drop(): void {
    this.#reply = undefined;
  }

  /** Takes the chat as the env left it: with the reply, and what was said behind it. */
  step(history: History): void {
    const open = this.#reply;
    if (open === undefined) {
      throw new TypeError("Cannot write step as there must be a reply: there is none");
    }
    const [reply, ...messages] = addedMessages(this.#history, history, refuseChange);
    if (reply === undefined) return this.drop();
    const turn = { ...open.turn, reply, messages };
    const rest = this.#write(turn, { addGenerationPrompt: true });
    const prompt = asTokens(() => this.#writer?.prompt?.([...history]));
    this.#buffer.addTurn(open.sampled, rest);
    this.#last = { ...open, turn };
    this.#reply = undefined;
    this.#history = [...history];
    this.#ask(prompt);
  }

  /** The episode as far as it was written, ended behind its last message. */
  tokens(): EpisodeTokens {
    const { ids, lossMask, logProbs, hasLogProbs } = this.#ended();
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

  #ended(): TokenBuffer {
    for (const open of [this.#reply, this.#last]) {
      if (open === undefined) continue;
      const buffer = this.#buffer.upTo(open.mark);
      try {
        buffer.addTurn(open.sampled, this.#write(open.turn, { addGenerationPrompt: false }));
        return buffer;
      } catch (error) {
        if (!(error instanceof TokenError)) throw error; // the turn that broke the episode is left out
      }
    }
    return this.#buffer.upTo({ ids: this.#first.ids.length, text: this.#first.text.length });
  }

  #ask(rendered: string | undefined): void {
    if (rendered === undefined) return;
    const text = this.#edited(rendered);
    const ids = this.#options.tokenizer.encode(text);
    this.#asked = { text, ids };
    if (!isSame(ids, this.#buffer.ids)) this.#rewritten++;
  }

  #edited(text: string): string {
    return this.#options.editPrompt?.(text) ?? text;
  }

  #write(turn: Turn, end: TurnEnd): string {
    const writer = this.#writer;
    if (writer === undefined) throw new TypeError("Cannot write tokens before the episode is started");
    return asTokens(() => writer.write(turn, end));
  }
}

/** Runs what a template may refuse. */
function asTokens<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof TokenError) throw cause;
    throw new TokenError(errorMessage(cause), { cause });
  }
}

function isSame(ids: readonly number[], others: readonly number[]): boolean {
  return ids.length === others.length && ids.every((id, at) => id === others[at]);
}

function refuseChange(index: number, is: string): never {
  throw new TokenError(
    `Cannot write step as the chat must start with what it was: message ${index} is ${is}`,
  );
}
