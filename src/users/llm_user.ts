import { errorMessage, UserError } from "../errors.ts";
import { History } from "../history.ts";
import { messageText } from "../message.ts";
import { type Policy, type Reply, type TokenUsage, toReply } from "../policy/policy.ts";
import { findUserStrategy, type UserStrategy, type UserStrategyName } from "./user_strategy.ts";
import type { UserInput, UserSimulator, UserTask, UserTurnOptions } from "./user_simulator.ts";

/** Options of {@linkcode llmUser}. */
export interface LlmUserOptions {
  /** The model that plays the user, such as `openaiPolicy({ url, model })`. */
  policy: Policy;
  /**
   * How replies are generated: `llm` uses the first reply, `react` reasons before it replies, `verify` has
   * replies judged and tries again, `reflection` has them judged and corrects them.
   *
   * @default "llm"
   */
  strategy?: UserStrategyName | undefined;
  /**
   * Price of the model's tokens, in the currency of its provider.
   *
   * @default 0 for each token
   */
  price?: { readonly perPromptToken: number; readonly perReplyToken: number } | undefined;
  /**
   * The agent's first message, to which the user replies first.
   *
   * @default "Hi! How can I help you today?"
   */
  greeting?: string | undefined;
}

/** The agent's first message in tau-bench. */
const GREETING = "Hi! How can I help you today?";

/**
 * Creates a user simulator that is played by a model. In the model's conversation, the agent's messages have
 * the role `user` and the simulated user's have the role `assistant`.
 *
 * The model is first called in `reset`. If it fails, the call rejects with a `UserError` that has a `cause`.
 *
 * @example
 * ```ts
 * import { llmUser, openaiPolicy } from "@paddock/paddock";
 *
 * const policy = openaiPolicy({ url: "http://localhost:8000", model: "Qwen/Qwen3-0.6B" });
 * const user = llmUser({ policy, strategy: "react" });
 * ```
 */
export function llmUser(options: LlmUserOptions): UserSimulator {
  return new LlmUser(options);
}

class LlmUser implements UserSimulator {
  readonly #options: LlmUserOptions;
  readonly #strategy: UserStrategy;
  #conversation = History.fromChats([]);
  #task: UserTask = { index: 0, instruction: "" };
  cost = 0;

  constructor(options: LlmUserOptions) {
    this.#options = options;
    this.#strategy = findUserStrategy(options.strategy);
  }

  async reset(task: UserTask, options: UserTurnOptions = {}): Promise<string> {
    return await this.step(this.#begin(task), options);
  }

  async step(content: string, { signal }: UserTurnOptions = {}): Promise<string> {
    const conversation = this.#conversation.append({ role: "user", content });
    const { raw, text } = await this.#strategy.reply(conversation, {
      instruction: this.#task.instruction,
      callModel: (history) => this.#callModel(history, signal),
    });
    this.#conversation = conversation.append({ role: "assistant", content: raw });
    return text;
  }

  recall(reply: string, input: UserInput): void {
    const content = "task" in input ? this.#begin(input.task) : input.content;
    const turn = [{ role: "user", content }, { role: "assistant", content: reply }];
    this.#conversation = this.#conversation.extend(turn);
  }

  /** Begins a conversation and returns the agent's first message. */
  #begin(task: UserTask): string {
    this.#task = task;
    this.cost = 0;
    this.#conversation = History.fromChats([{
      role: "system",
      content: this.#strategy.prompt(task.instruction),
    }]);
    return this.#options.greeting ?? GREETING;
  }

  async #callModel(history: History, signal: AbortSignal | undefined): Promise<string> {
    const task = { id: `user ${this.#task.index}`, query: "" };
    try {
      const reply = toReply(await this.#options.policy.reply(history, { task, signal }));
      this.#addCost(reply);
      return messageText(reply.message);
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = errorMessage(cause);
      throw new UserError(`Cannot play the user of task ${this.#task.index}: ${reason}`, { cause });
    }
  }

  #addCost({ usage }: Reply): void {
    const { perPromptToken = 0, perReplyToken = 0 } = this.#options.price ?? {};
    const { promptTokens, replyTokens }: TokenUsage = usage ?? { promptTokens: 0, replyTokens: 0 };
    this.cost += promptTokens * perPromptToken + replyTokens * perReplyToken;
  }
}
