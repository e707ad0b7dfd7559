import { ChatFormat, type ChatFormatOptions } from "../chat/chat_format.ts";
import type { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import { type ChatMode, historyMode, textMode, tokensMode } from "./chat_modes.ts";
import type { Action, Env, Observation, Step } from "./env.ts";
import { historyAfter } from "./full_history.ts";
import { messagesOfQuery } from "./query_messages.ts";

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
 * import { ChatEnv, replyAction } from "@paddock/paddock";
 *
 * await using env = new ChatEnv({ systemPrompt: "Answer briefly." });
 * await env.reset({ id: "sum", query: "What is 2 + 2?" });
 * const { history } = await env.step(replyAction("4"));
 * if (history.prompt.length !== 3) throw new Error(`${history.prompt.length} messages`);
 * ```
 */
export class ChatEnv implements Env {
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
    const { task, history } = this.#observation;
    const { view, response } = this.#mode.next(this.#observation, action);
    const prompt = response === undefined || action.history !== undefined
      ? historyAfter(history.prompt, action)
      : history.prompt.append(this.#replyOf(response));
    this.#observation = { task, history: { prompt }, ...view };
    return { ...this.#observation, reward: null, terminated: false, truncated: false, toolResults: [] };
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
