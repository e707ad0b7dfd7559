import type { ChatFormat, RenderOptions } from "../../chat/chat_format.ts";
import {
  QUESTION,
  renderTurnSuffix,
  renderTurnTail,
  withoutSampledEnd,
  withoutThought,
} from "../../chat/turn_tail.ts";
import { ArgumentTypeError, TokenError } from "../../errors.ts";
import { type Message, messageText, type ToolSpec } from "../../message.ts";

/**
 * Mode of writing an episode's tokens. `append` keeps all earlier tokens and encodes only the new text. `rerender`
 * renders the whole chat in each turn, for templates that rewrite earlier turns.
 */
export type TokenMode = "append" | "rerender";

/** Chat format by which turns are written. */
export interface TurnFormat {
  readonly chat: ChatFormat;
  /** True if the template renders a turn the same way at every position of the chat. */
  isAppendOnly(tools: readonly ToolSpec[]): boolean;
}

/** Turn to be written after the tokens of an episode. */
export interface Turn {
  /** Messages before the reply. */
  readonly before: readonly Message[];
  readonly reply: Message;
  /** Sampled ids, with the sampled token that ended the reply, if any. */
  readonly sampled: readonly number[];
  /** Messages after the reply: tool results and the next user message. */
  readonly messages: readonly Message[];
}

/** End of a turn. */
export interface TurnEnd {
  /** True if another reply follows: the text then ends with the header of the assistant's next turn. */
  readonly addGenerationPrompt: boolean;
}

/** Renders the text that a turn adds to an episode's tokens. Throws a `TokenError` on failure. */
export interface TurnWriter {
  /** Returns the text after the sampled tokens: the end of the turn, unless sampled, and the later messages. */
  renderRest(turn: Turn, end: TurnEnd): string;
  /** Returns the next prompt of the policy; `undefined` if the prompt is the text written so far. */
  renderPrompt?(messages: readonly Message[]): string;
}

/** Options of {@linkcode AppendWriter}. */
export interface AppendWriterOptions {
  tools: readonly ToolSpec[];
  /** Time that the template's clock shows in all prompts of the episode. */
  time: Date;
  /**
   * Behaviour if the template rewrites earlier turns.
   *
   * @default "error"
   */
  onRewrite?: "error" | "keep" | undefined;
}

/** Mode of writing tokens, and the behaviour of `append` if the template rewrites earlier turns. */
export interface WritingMode extends Pick<AppendWriterOptions, "onRewrite"> {
  mode: TokenMode;
}

/** Creates the writer of an episode's turns. */
export function createTurnWriter(
  format: TurnFormat,
  { mode, ...options }: WritingMode & AppendWriterOptions,
): TurnWriter {
  return mode === "append" ? new AppendWriter(format, options) : new RerenderWriter(format, options);
}

/** All ways of writing tokens, with the names of their options. */
const WRITING_MODES: readonly (WritingMode & { readonly label: string })[] = [
  { mode: "append", onRewrite: "error", label: "the token mode 'append'" },
  { mode: "append", onRewrite: "keep", label: "the token mode 'append' with 'onRewrite' set to 'keep'" },
  { mode: "rerender", onRewrite: "error", label: "the token mode 'rerender'" },
];

const USER: Message = { role: "user", content: "q" };
const REPLY: Message = { role: "assistant", content: "a" };
/** Replies without a thought, with a thought, and with a thought that the generation prompt opened. */
const REPLIES: readonly Message[] = ["a", "<think>\nc\n</think>\n\na", "c\n</think>\n\na"].map((content) => ({
  role: "assistant",
  content,
}));

/** Smallest chats. A template that rejects a chat may accept the other chat. */
const STARTS: readonly (readonly Message[])[] = [[USER], [{ role: "system", content: "s" }, USER]];

/**
 * Checks that a template can be written in a mode at all: a chat of two questions without thoughts and tools.
 *
 * @throws {TypeError} if each chat with a reply fails. The message names the modes that work, and the cause is the error
 * for a plain reply.
 */
export function requireWritable(format: TurnFormat, options: WritingMode): void {
  const problem = findProblem(format, options);
  if (problem === undefined) return;
  throw new ArgumentTypeError(
    `Cannot write tokens in the token mode '${options.mode}' as template '${format.chat.template.name}' must put a ` +
      `reply after its generation prompt and keep earlier turns: it does not${adviceFor(format, options)}`,
    { cause: problem },
  );
}

/** Returns the error of the first chat that cannot be written in a mode. Chats that the template rejects do not count. */
function findProblem(format: TurnFormat, options: WritingMode): Error | undefined {
  const start = STARTS.find((start) => isAccepted(format.chat, [...start, REPLY, USER]));
  if (start === undefined) return undefined; // the template needs other messages, which only an episode has
  for (const messages of [[], [USER]]) {
    // Qwen3's template keeps a thought in the last reply only, and no reply without a thought
    const problems = REPLIES.map((reply) =>
      findTurnProblem(format, { before: start, reply, sampled: [], messages }, options)
    );
    if (!problems.includes(undefined)) return problems[0];
  }
  return undefined;
}

/** Returns the error if the writer cannot place the reply, or the template rewrites the chat. */
function findTurnProblem(format: TurnFormat, turn: Turn, options: WritingMode): Error | undefined {
  try {
    const writer = createTurnWriter(format, { ...options, tools: [], time: format.chat.now() });
    writer.renderRest(turn, { addGenerationPrompt: turn.messages.length > 0 });
    writer.renderPrompt?.([...turn.before, turn.reply, ...turn.messages]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function isAccepted(format: ChatFormat, messages: readonly Message[]): boolean {
  try {
    format.render(messages, { addGenerationPrompt: true });
    return true;
  } catch {
    return false; // the template rejects this chat, and may accept others
  }
}

/** Names the other modes that work with a template. */
function adviceFor(format: TurnFormat, { mode, onRewrite = "error" }: WritingMode): string {
  const labels = WRITING_MODES.filter((other) => other.mode !== mode || other.onRewrite !== onRewrite)
    .filter((other) => findProblem(format, other) === undefined).map(({ label }) => label);
  return labels.length === 0 ? ". Use another template" : `. Use ${labels.join(", or ")}`;
}

/**
 * Renders each turn separately, so the cost of a turn does not depend on the length of the episode.
 *
 * If the template may rewrite earlier turns, the writer renders the whole chat in each turn and checks that the earlier
 * text is unchanged. With `onRewrite: "keep"` there is no check, and the earlier tokens stay as sampled and shown.
 */
class AppendWriter implements TurnWriter {
  readonly #turns: TurnFormat;
  readonly #format: ChatFormat;
  readonly #tools: readonly ToolSpec[];
  readonly #time: Date;
  readonly #checksRewrites: boolean;

  constructor(format: TurnFormat, options: AppendWriterOptions) {
    const { tools, time, onRewrite = "error" } = options;
    this.#turns = format;
    this.#format = format.chat;
    this.#time = time;
    this.#checksRewrites = onRewrite === "error" && !format.isAppendOnly(tools);
    // an append-only template renders a turn the same way without tools, which costs less
    this.#tools = !this.#checksRewrites && format.isAppendOnly([]) ? [] : tools;
  }

  renderRest(turn: Turn, { addGenerationPrompt }: TurnEnd): string {
    const { before, ...added } = turn;
    const context = this.#checksRewrites ? { before } : {};
    if (this.#checksRewrites) this.#requireUnchanged(turn);
    const rendered = { ...added, ...context, tools: this.#tools, time: this.#time };
    const suffix = renderTurnSuffix(rendered, this.#format, { addGenerationPrompt });
    return addGenerationPrompt ? suffix : withoutChatEnd(suffix, this.#format);
  }

  /** Checks that the rendered chat equals the earlier text, the reply and the following text, concatenated. */
  #requireUnchanged({ before, reply, messages }: Turn): void {
    const options = { tools: this.#tools, time: this.#time };
    const prefix = this.#format.render(before, { ...options, addGenerationPrompt: true });
    const text = this.#format.cutEnd(messageText(reply));
    const turn = { ...options, before, reply, messages, sampled: [] };
    const delta = text + renderTurnSuffix(turn, this.#format, { addGenerationPrompt: false });
    if (this.#format.render([...before, reply, ...messages], options) === prefix + delta) return;
    throw new TokenError(
      `Cannot append turn as template '${this.#format.template.name}' must not rewrite earlier turns: it does` +
        adviceFor(this.#turns, { mode: "append" }),
    );
  }
}

/**
 * Renders a turn as the difference of the whole chat before and after it: slime's token delta.
 *
 * The writer supports templates that rewrite earlier turns, as Qwen3's template does to remove old thoughts. Each prompt
 * is the chat in the template's form at that time, while the episode's tokens keep every turn in the turn's first form.
 * Text that a template puts between a generation prompt and a reply, such as an empty thought, is left out, because the
 * reply was sampled without that text. A generation prompt of white space, such as dialogpt's, stays before the reply. The
 * cost of a turn grows with the length of the chat.
 */
class RerenderWriter implements TurnWriter {
  readonly #format: ChatFormat;
  readonly #tools: readonly ToolSpec[];
  readonly #time: Date;

  constructor(format: TurnFormat, { tools, time }: Omit<AppendWriterOptions, "onRewrite">) {
    this.#format = format.chat;
    this.#tools = tools;
    this.#time = time;
  }

  renderPrompt(messages: readonly Message[]): string {
    return this.#render(messages, { addGenerationPrompt: true, tools: this.#tools });
  }

  renderRest(turn: Turn, end: TurnEnd): string {
    const rest = withoutSampledEnd(this.#tail(turn, end), turn, this.#format);
    return end.addGenerationPrompt ? rest : withoutChatEnd(rest, this.#format);
  }

  /** Returns the template's text after the reply, with the token that ends the turn. */
  #tail(turn: Turn, end: TurnEnd): string {
    const { before, reply, messages } = turn;
    const rendered = this.#render([...before, reply]);
    const chat = messages.length === 0 ? rendered : this.#render([...before, reply, ...messages]);
    const keepsPrompt = this.#continuesPrompt(before, reply);
    if (!keepsPrompt && !this.#continuesPrompt(QUESTION, reply)) {
      this.#fail("the rendered reply must start with its generation prompt: found another start");
    }
    const header = end.addGenerationPrompt ? this.#header([...before, reply, ...messages], chat) : "";
    if (header === undefined) return this.#standalone(turn, { addGenerationPrompt: true });
    if (!keepsPrompt || !chat.startsWith(rendered)) return this.#standalone(turn, { chat }) + header;
    const close = renderTurnTail({ before, reply, time: this.#time }, this.#format, {
      addGenerationPrompt: false,
    });
    return close + chat.slice(rendered.length) + header;
  }

  /**
   * True if the rendered reply continues the prompt. The sampled text itself stays unchanged. A template that rewrites
   * the chat when a reply is added, as gpt-oss's drops thoughts before an answer, continues only the prompt of a chat
   * without earlier replies.
   */
  #continuesPrompt(before: readonly Message[], reply: Message): boolean {
    const rendered = this.#render([...before, reply]);
    const prompt = this.#render(before, { addGenerationPrompt: true });
    if (rendered.startsWith(prompt)) return true;
    const chat = this.#render(before);
    // the header can be only white space, as dialogpt's, and can end in a thought that the reply does not have
    return prompt.startsWith(chat) && rendered.startsWith(chat + withoutThought(prompt.slice(chat.length)));
  }

  /** Renders the turn's text separately, if the template rewrote earlier text. */
  #standalone(
    { before, reply, messages }: Turn,
    { chat, addGenerationPrompt = false }: { chat?: string; addGenerationPrompt?: boolean },
  ): string {
    const rest = renderTurnTail({ reply, messages, time: this.#time }, this.#format, { addGenerationPrompt });
    const text = chat ?? this.#render([...before, reply, ...messages], { addGenerationPrompt });
    if (text.endsWith(rest)) return rest;
    return this.#fail("the newest messages must be rendered as they are alone: found a different text");
  }

  /** Returns the next reply's header; `undefined` if the chat without the header ends with other text, as with Phi. */
  #header(messages: readonly Message[], chat: string): string | undefined {
    const text = this.#render(messages, { addGenerationPrompt: true });
    return text.startsWith(chat) ? text.slice(chat.length) : undefined;
  }

  #render(messages: readonly Message[], options: RenderOptions = {}): string {
    return this.#format.render(messages, { ...options, time: this.#time });
  }

  #fail(reason: string): never {
    throw new TokenError(`Cannot write turn with template '${this.#format.template.name}' as ${reason}`);
  }
}

/** Removes the token that ends a whole chat, which is no part of a longer chat. */
function withoutChatEnd(text: string, { chatEnd }: ChatFormat): string {
  return chatEnd !== undefined && text.endsWith(chatEnd) ? text.slice(0, -chatEnd.length) : text;
}
