import { ChatFormat, type ChatFormatOptions } from "../chat/chat_format.ts";
import type { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import { type ChatMode, historyMode, textMode, tokensMode } from "./chat_modes.ts";
import type { Action, Env, Observation, Step } from "./env.ts";
import { fullHistory } from "./full_history.ts";
import { queryMessages } from "./query_messages.ts";

/** How a {@linkcode ChatEnv} starts its episodes, and in what form it speaks to the policy. */
export interface ChatEnvOptions extends ChatFormatOptions {
  /**
   * What observations and actions carry beside the history: nothing (`history`), `text`, or `tokens`. Text and
   * tokens need a tokenizer, or for text at least a template.
   */
  inputMode?: "history" | "text" | "tokens" | undefined;
  /** Put before the query as a system message. */
  systemPrompt?: string | undefined;
  /** The role of the system prompt; `system` unless given. */
  systemRole?: string | undefined;
  /** The role of a query that is text; `user` unless given. */
  userRole?: string | undefined;
  /** The role of answers that are text or tokens; `assistant` unless given. */
  policyRole?: string | undefined;
  /** The key of the query: `query` unless given, else one of the task's `fields`. */
  dataKey?: string | undefined;
}

/**
 * A conversation: `reset` asks the task's query, `step` puts the policy's messages behind it.
 *
 * It never ends and gives no reward by itself; transforms do that. In text and tokens mode the first prompt is
 * rendered with a generation prompt, and a step puts the answer behind it as it is, without the header of a next
 * turn: for more turns use `IncrementalTokenizer`. The history stays the truth in every mode: an answer in text
 * or tokens becomes one message, without the token that ends its turn.
 */
export class ChatEnv implements Env {
  readonly #options: ChatEnvOptions;
  readonly #format: ChatFormat | undefined;
  readonly #mode: ChatMode;
  #observation: Observation | undefined;
  #disposed = false;

  /**
   * @throws {RangeError} when there is no such mode or family.
   * @throws {TypeError} when the mode needs a tokenizer or a template that is not given.
   * @throws {SyntaxError} when the template is no Jinja.
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
    const query = queryMessages(task, { dataKey, userRole });
    const prompt = systemPrompt === undefined ? query : before(query, systemRole, systemPrompt);
    return this.#observation = { task, history: { prompt }, ...this.#mode.start(prompt) };
  }

  // deno-lint-ignore require-await
  async step(action: Action): Promise<Step> {
    if (this.#disposed) throw new Error("Cannot step as the env is disposed");
    if (this.#observation === undefined) throw new Error("Cannot step before the first reset");
    const { task, history } = this.#observation;
    const { view, said } = this.#mode.next(this.#observation, action);
    const prompt = said === undefined || action.history !== undefined
      ? fullHistory(history.prompt, action)
      : history.prompt.append(this.#reply(said));
    this.#observation = { task, history: { prompt }, ...view };
    return { ...this.#observation, reward: null, terminated: false, truncated: false, toolResults: [] };
  }

  // deno-lint-ignore require-await
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#observation = undefined;
  }

  #reply(said: string): Message {
    return { role: this.#options.policyRole ?? "assistant", content: this.#format?.cutEnd(said) ?? said };
  }
}

function chatMode(inputMode: string, format: ChatFormat | undefined): ChatMode {
  if (inputMode === "history") return historyMode;
  if (format === undefined) throw new RangeError(`Invalid input mode: ${inputMode}`);
  if (inputMode === "text") return textMode(format);
  if (format.tokenizer !== undefined) return tokensMode(format, format.tokenizer);
  throw new TypeError("Cannot play in tokens mode as 'tokenizer' must be given: it is missing");
}

function before(query: History, role: string, content: string): History {
  return query.slice(0, 0).append({ role, content }).extend(query);
}
