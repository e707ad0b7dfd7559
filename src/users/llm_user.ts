import { errorMessage, UserError } from "../errors.ts";
import { History } from "../history.ts";
import { messageText } from "../message.ts";
import { type Policy, type Reply, type TokenUsage, wholeReply } from "../policy/policy.ts";
import { type UserStrategy, userStrategy, type UserStrategyName } from "./user_strategy.ts";
import type { UserHeard, UserSimulator, UserTask, UserTurnOptions } from "./user_simulator.ts";

/** Who plays a user, and how. */
export interface LlmUserOptions {
  /** The model that plays: such as `openaiPolicy({ url, model })`. */
  policy: Policy;
  /**
   * How it finds its words: it says what comes first (`llm`), thinks before (`react`), has its words judged and
   * tries again (`verify`), or has them judged and mends them (`reflection`); `llm` unless given.
   */
  strategy?: UserStrategyName | undefined;
  /** What a token of the model costs; 0 unless given. */
  price?: { readonly perPromptToken: number; readonly perReplyToken: number } | undefined;
  /** What the agent is taken to have said first. */
  greeting?: string | undefined;
}

/** What the user's model takes the agent to have said first: tau-bench's words. */
const GREETING = "Hi! How can I help you today?";

/**
 * A user who is played by a model. To the model the agent is the one who asks, in the role `user`, and its own
 * words are the assistant's.
 *
 * Nothing is asked before `reset`. A model that fails rejects with a `UserError` whose cause is what it failed of.
 */
export function llmUser(options: LlmUserOptions): UserSimulator {
  return new LlmUser(options);
}

class LlmUser implements UserSimulator {
  readonly #options: LlmUserOptions;
  readonly #strategy: UserStrategy;
  #talk = History.fromChats([]);
  #task: UserTask = { index: 0, instruction: "" };
  cost = 0;

  constructor(options: LlmUserOptions) {
    this.#options = options;
    this.#strategy = userStrategy(options.strategy);
  }

  async reset(task: UserTask, options: UserTurnOptions = {}): Promise<string> {
    return await this.step(this.#begin(task), options);
  }

  async step(content: string, { signal }: UserTurnOptions = {}): Promise<string> {
    const talk = this.#talk.append({ role: "user", content });
    const { raw, said } = await this.#strategy.say(talk, {
      instruction: this.#task.instruction,
      ask: (history) => this.#ask(history, signal),
    });
    this.#talk = talk.append({ role: "assistant", content: raw });
    return said;
  }

  recall(said: string, heard: UserHeard): void {
    const content = "task" in heard ? this.#begin(heard.task) : heard.content;
    this.#talk = this.#talk.extend([{ role: "user", content }, { role: "assistant", content: said }]);
  }

  /** Begins a talk, and gives what the agent is taken to have said. */
  #begin(task: UserTask): string {
    this.#task = task;
    this.cost = 0;
    this.#talk = History.fromChats([{ role: "system", content: this.#strategy.prompt(task.instruction) }]);
    return this.#options.greeting ?? GREETING;
  }

  async #ask(history: History, signal: AbortSignal | undefined): Promise<string> {
    const task = { id: `user ${this.#task.index}`, query: "" };
    try {
      const reply = wholeReply(await this.#options.policy.reply(history, { task, signal }));
      this.#pay(reply);
      return messageText(reply.message);
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = errorMessage(cause);
      throw new UserError(`Cannot play the user of task ${this.#task.index}: ${reason}`, { cause });
    }
  }

  #pay({ usage }: Reply): void {
    const { perPromptToken = 0, perReplyToken = 0 } = this.#options.price ?? {};
    const { promptTokens, replyTokens }: TokenUsage = usage ?? { promptTokens: 0, replyTokens: 0 };
    this.cost += promptTokens * perPromptToken + replyTokens * perReplyToken;
  }
}
