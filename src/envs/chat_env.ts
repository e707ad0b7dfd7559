import { ChatFormat, type ChatFormatOptions } from "../chat/chat_format.ts";
import { requireTokenIds, type Tokenizer } from "../chat/tokenizer.ts";
import {
  type EpisodeCheckpointOptions,
  type EpisodeForkOptions,
  forkEpisode,
} from "../episode_checkpoint.ts";
import { ArgumentTypeError } from "../errors.ts";
import { History } from "../history.ts";
import { type Message, messageText } from "../message.ts";
import type { Task } from "../task.ts";
import { type Action, describeAction, historyAfter, requireAction } from "./action.ts";
import type { BranchingEnv, EnvCheckpoint } from "./branching_env.ts";
import type { Observation, Step } from "./env.ts";

/** Options of {@linkcode ChatEnv}. */
export interface ChatEnvOptions extends ChatFormatOptions {
  /**
   * Form of observations and actions in addition to the history: none (`history`), `text`, or `tokens`.
   * `tokens` needs a tokenizer; `text` needs a tokenizer or a template.
   *
   * @default "history"
   */
  inputMode?: "history" | "text" | "tokens" | undefined;
  /** System message that is put before the query. */
  systemPrompt?: string | undefined;
  /**
   * Role of the system prompt.
   *
   * @default "system"
   */
  systemRole?: string | undefined;
  /**
   * Role of a query that is text.
   *
   * @default "user"
   */
  userRole?: string | undefined;
  /**
   * Role of responses that are text or tokens.
   *
   * @default "assistant"
   */
  policyRole?: string | undefined;
  /**
   * Key of the query: `query`, or a key of the task's `fields`.
   *
   * @default "query"
   */
  dataKey?: string | undefined;
}

/**
 * A conversation: `reset` starts it with the task's query, and `step` appends the policy's messages.
 *
 * The env never ends an episode and gives no reward; transforms do both. In text and tokens mode the first prompt
 * is rendered with a generation prompt. A step appends the response unchanged, without the header of the next
 * turn; for several turns use `IncrementalTokenizer`. The history is the source of truth in every mode: a response
 * in text or tokens becomes one message, without the token that ends its turn.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, replyAction } from "@paddock/paddock";
 *
 * await using env = new ChatEnv({ systemPrompt: "Answer briefly." });
 * await env.reset({ id: "sum", query: "What is 2 + 2?" });
 * const { history } = await env.step(replyAction("4"));
 * assertEquals(history.prompt.length, 3);
 * ```
 */
export class ChatEnv implements BranchingEnv {
  readonly #options: ChatEnvOptions;
  readonly #format: ChatFormat | undefined;
  readonly #mode: ChatMode;
  #observation: Observation | undefined;
  #disposed = false;

  /**
   * @throws {RangeError} if the input mode or the template family is unknown.
   * @throws {TypeError} if the mode needs a tokenizer or a template and it is missing.
   * @throws {SyntaxError} if the template is not valid Jinja.
   */
  constructor(options: ChatEnvOptions = {}) {
    const { inputMode = "history" } = options;
    this.#options = options;
    this.#format = inputMode === "text" || inputMode === "tokens" ? new ChatFormat(options) : undefined;
    this.#mode = chatMode(inputMode, this.#format);
  }

  // deno-lint-ignore require-await
  async reset(task: Task): Promise<Observation> {
    if (this.#disposed) throw new Error("Cannot reset env as it is disposed");
    const { systemPrompt, systemRole = "system", userRole = "user", dataKey = "query" } = this.#options;
    const query = messagesOfQuery(task, { dataKey, userRole });
    const prompt = systemPrompt === undefined ? query : prependMessage(query, systemRole, systemPrompt);
    return this.#observation = { task, history: { prompt }, ...this.#mode.start(prompt) };
  }

  // deno-lint-ignore require-await
  async step(action: Action): Promise<Step> {
    if (this.#disposed) throw new Error("Cannot step as the env is disposed");
    if (this.#observation === undefined) throw new Error("Cannot step before the first reset");
    requireAction(action);
    const { task, history } = this.#observation;
    const { view, response } = this.#mode.next(this.#observation, action);
    const prompt = response === undefined || action.history !== undefined
      ? historyAfter(history.prompt, action)
      : history.prompt.append(this.#replyOf(response));
    this.#observation = { task, history: { prompt }, ...view };
    return { ...this.#observation, reward: null, terminated: false, truncated: false, toolResults: [] };
  }

  /** {@inheritDoc BranchingEnv.checkpoint} */
  // deno-lint-ignore require-await
  async checkpoint(_options?: EpisodeCheckpointOptions): Promise<EnvCheckpoint> {
    if (this.#disposed) throw new Error("Cannot checkpoint env as it is disposed");
    const observation = this.#observation;
    return {
      copy: () => {
        const copy = new ChatEnv(this.#options);
        copy.#observation = observation;
        return copy;
      },
    };
  }

  /** {@inheritDoc BranchingEnv.fork} */
  async fork(count: number, options?: EpisodeForkOptions): Promise<BranchingEnv[]> {
    return await forkEpisode(count, () => this.checkpoint(options), options);
  }

  // deno-lint-ignore require-await
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#observation = undefined;
  }

  #replyOf(text: string): Message {
    return { role: this.#options.policyRole ?? "assistant", content: this.#format?.cutEnd(text) ?? text };
  }
}

function chatMode(inputMode: string, format: ChatFormat | undefined): ChatMode {
  if (inputMode === "history") return historyMode;
  if (format === undefined) throw new RangeError(`Invalid input mode: ${inputMode}`);
  if (inputMode === "text") return textMode(format);
  if (format.tokenizer !== undefined) return tokensMode(format, format.tokenizer);
  throw new TypeError(
    "Cannot create ChatEnv with inputMode 'tokens' as 'tokenizer' is required: it is missing",
  );
}

function prependMessage(query: History, role: string, content: string): History {
  return query.slice(0, 0).append({ role, content }).extend(query);
}

/** Prompt of an observation in addition to the history: none, as text, or as tokens. */
export type ChatView = Pick<Observation, "text" | "tokens">;

/** Result of {@linkcode ChatMode.next}. */
export interface ModeStep {
  readonly view: ChatView;
  /** Response as text, with the token that ends its turn. Left out in history mode. */
  readonly response?: string;
}

/** Form in which an env shows its conversation and takes responses. */
export interface ChatMode {
  start(prompt: History): ChatView;
  /** @throws {TypeError} if the action has no response, or changes the prompt. */
  next(before: Observation, action: Action): ModeStep;
}

/** Messages only. */
const historyMode: ChatMode = { start: () => ({}), next: () => ({ view: {} }) };

/** Returns the text mode: the response is appended to the prompt, without the header of the next turn. */
function textMode(format: ChatFormat): ChatMode {
  return {
    start: (prompt) => ({ text: { prompt: format.render(prompt, { addGenerationPrompt: true }) } }),
    next: (before, action) => {
      const prompt = before.text?.prompt ?? "";
      const { full, response } = action.text ?? {};
      if (full === undefined) {
        const text = response ?? responseInHistory("text", before, action);
        return { view: { text: { prompt: prompt + text } }, response: text };
      }
      if (!full.startsWith(prompt)) throw changedPrompt("text.full");
      return { view: { text: { prompt: full } }, response: full.slice(prompt.length) };
    },
  };
}

/** Returns the tokens mode: sampled ids are appended to the prompt and never tokenised again. */
function tokensMode(format: ChatFormat, tokenizer: Tokenizer): ChatMode {
  return {
    start: (prompt) => {
      const text = format.render(prompt, { addGenerationPrompt: true });
      return { tokens: { prompt: tokenizer.encode(text) } };
    },
    next: (before, action) => {
      const prompt = before.tokens?.prompt ?? [];
      const { full, response } = action.tokens ?? {};
      if (full === undefined) {
        const ids = response ?? tokenizer.encode(responseInHistory("tokens", before, action));
        requireTokenIds(ids, tokenizer, "tokens.response");
        return { view: { tokens: { prompt: prompt.concat(ids) } }, response: tokenizer.decode(ids) };
      }
      if (prompt.some((id, at) => id !== full[at])) throw changedPrompt("tokens.full");
      requireTokenIds(full, tokenizer, "tokens.full");
      return { view: { tokens: { prompt: full } }, response: tokenizer.decode(full.slice(prompt.length)) };
    },
  };
}

/** Returns the response of a policy that gives messages only, which works in every mode. */
function responseInHistory(mode: "text" | "tokens", before: Observation, action: Action): string {
  const { full, response } = action.history ?? {};
  if (full === undefined && response === undefined) {
    throw new ArgumentTypeError(
      `Cannot step as the action must have '${mode}.full' or '${mode}.response': ${describeAction(action)}`,
    );
  }
  const { prompt } = before.history;
  return [...historyAfter(prompt, action).slice(prompt.length)].map(messageText).join("");
}

function changedPrompt(key: string): TypeError {
  return new ArgumentTypeError(
    `Cannot step as '${key}' must start with the prompt: found a different beginning`,
  );
}

/** Options of {@linkcode messagesOfQuery}. */
export interface QueryMessagesOptions {
  /** Key of the query: `query`, or a key of the task's `fields`. */
  dataKey: string;
  /** Role of a query that is text. */
  userRole: string;
}

/**
 * Returns the first messages of an episode: a text query becomes one message, a conversation is used as it is.
 *
 * @throws {TypeError} if the query is missing, empty, or neither text nor messages.
 */
function messagesOfQuery(task: Task, options: QueryMessagesOptions): History {
  const { dataKey, userRole } = options;
  const query = queryOf(task, dataKey);
  const prefix = `Cannot reset env as '${dataKey}' of task '${task.id}'`;
  if (query === null || query === undefined) {
    throw new ArgumentTypeError(
      `${prefix} must be text or messages: it is ${query === null ? "null" : "missing"}`,
    );
  }
  if (typeof query === "string") {
    if (query === "") throw new ArgumentTypeError(`${prefix} is empty`);
    return History.fromChats([{ role: userRole, content: query }]);
  }
  if (typeof query !== "object" || !(Symbol.iterator in query)) {
    throw new ArgumentTypeError(`${prefix} must be text or messages: it is ${typeof query}`);
  }
  const messages = History.fromChats(query as Iterable<Message>);
  if (messages.length === 0) throw new ArgumentTypeError(`${prefix} is empty`);
  return messages;
}

function queryOf(task: Task, dataKey: string): unknown {
  if (task === null || typeof task !== "object") {
    throw new ArgumentTypeError(`Cannot reset env as it must be given a task: it is given ${task}`);
  }
  if (dataKey === "query" && task.query !== undefined) return task.query;
  const { fields = {} } = task;
  if (Object.hasOwn(fields, dataKey)) return fields[dataKey];
  const keys = [...Object.keys(task), ...Object.keys(fields)];
  throw new ArgumentTypeError(
    `Cannot reset env as the task must have a '${dataKey}' key: it has ${keys.join(", ")}`,
  );
}
