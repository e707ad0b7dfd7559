import { requireKnownOptions } from "../options.ts";
import type { EpisodeCheckpoint } from "../episode_checkpoint.ts";
import { errorMessage, UserError } from "../errors.ts";
import { History } from "../history.ts";
import { messageText } from "../message.ts";
import { type Policy, type Reply, type TokenUsage, toReply } from "../policy/policy.ts";
import {
  USER_STOP,
  type UserInput,
  type UserSimulator,
  type UserTask,
  type UserTurnOptions,
} from "./user_simulator.ts";

/** Options of {@linkcode llmUser}. */
export interface LlmUserOptions {
  /** The model that plays the user, such as `openaiPolicy({ url, model })`. */
  policy: Policy;
  /**
   * Strategy of generation: `llm` uses the first reply, `react` reasons before the reply, `verify` has
   * replies judged and tries again, `reflection` has them judged and corrects them.
   *
   * @default "llm"
   */
  strategy?: UserStrategyName | undefined;
  /**
   * Price of the model's tokens, in the currency of the provider.
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
 * the role `user`, and the simulated user's messages have the role `assistant`.
 *
 * The model is first called in `reset`. If the model fails, the call rejects with a `UserError` that has a `cause`.
 *
 * @example
 * ```ts
 * import { llmUser } from "@paddock/paddock/tau-bench";
 * import { openaiPolicy } from "@paddock/paddock";
 *
 * const policy = openaiPolicy({ url: "http://localhost:8000", model: "Qwen/Qwen3-0.6B" });
 * const user = llmUser({ policy, strategy: "react" });
 * ```
 */
export function llmUser(options: LlmUserOptions): UserSimulator {
  requireKnownOptions("call llmUser", options, { policy: true, strategy: true, price: true, greeting: true });
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

  checkpoint(): EpisodeCheckpoint<LlmUser> {
    const [conversation, task, cost] = [this.#conversation, this.#task, this.cost];
    return {
      copy: () => {
        const copy = new LlmUser(this.#options);
        copy.#conversation = conversation;
        copy.#task = task;
        copy.cost = cost;
        return copy;
      },
    };
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

/** Name of a strategy by which a model generates the replies of a user. */
export type UserStrategyName = "llm" | "react" | "verify" | "reflection";

/** The context of a strategy. */
export interface StrategyContext {
  /** Instruction of the task. */
  readonly instruction: string;
  /** Returns the model's reply to a conversation. */
  callModel(history: History): Promise<string>;
}

/** A user's reply. */
export interface UserReply {
  /** Full output of the model, which stays in the model's conversation. */
  readonly raw: string;
  /** The part of the reply that is shown to the agent. */
  readonly text: string;
}

/** A strategy by which a model generates the replies of a user. */
export interface UserStrategy {
  /** Returns the system message that makes the model play the user. */
  prompt(instruction: string): string;
  /** Generates the user's next reply. */
  reply(talk: History, tools: StrategyContext): Promise<UserReply>;
}

/**
 * Maximum number of attempts for a reply that is judged, including the first. The numbers come from
 * tau-bench.
 */
const VERIFY_ATTEMPTS = 3;
const REFLECTION_ATTEMPTS = 2;

const STRATEGIES: Readonly<Record<UserStrategyName, UserStrategy>> = {
  llm: { prompt, reply: sayPlainly },
  react: { prompt: reasoningPrompt, reply: sayAfterReasoning },
  verify: { prompt, reply: sayVerified },
  reflection: { prompt, reply: sayReflected },
};

/**
 * Returns the strategy of a name.
 *
 * @throws {RangeError} if there is no such strategy.
 */
function findUserStrategy(name: UserStrategyName = "llm"): UserStrategy {
  if (Object.hasOwn(STRATEGIES, name)) return STRATEGIES[name];
  const names = Object.keys(STRATEGIES).join(", ");
  throw new RangeError(
    `Cannot play a user as 'strategy' must be one of ${names}: current value is '${name}'`,
  );
}

function prompt(instruction: string): string {
  return `You play a customer who talks with an agent.

Instruction: ${instruction}

- Write one line at a time: what the customer says next, and nothing else.
- Keep back what the agent has not asked for; tell it bit by bit.
- Invent nothing. What the instruction does not say, such as an order number, you do not remember.
- When all that the instruction wants is done, write ${USER_STOP} and nothing else.
- Use your own words, not those of the instruction, and speak as the person it describes.`;
}

function reasoningPrompt(instruction: string): string {
  return `${prompt(instruction)}
- Before each line think about what to say. Write it so:

Thought: <what you think>
User Response: <what the customer says>`;
}

async function sayPlainly(conversation: History, { callModel: ask }: StrategyContext): Promise<UserReply> {
  const reply = await ask(conversation);
  return { raw: reply, text: reply };
}

async function sayAfterReasoning(
  conversation: History,
  { callModel: ask }: StrategyContext,
): Promise<UserReply> {
  const raw = await ask(conversation);
  if (raw.includes(USER_STOP)) return { raw, text: USER_STOP };
  const [, reply] = /User Response:([^]*)$/.exec(raw) ?? [];
  return { raw, text: (reply ?? raw.replace(/^\s*Thought:/, "")).trim() };
}

async function sayVerified(conversation: History, tools: StrategyContext): Promise<UserReply> {
  let reply = await tools.callModel(conversation);
  for (
    let attempt = 1;
    attempt < VERIFY_ATTEMPTS && !await isAccepted(reply, conversation, tools);
    attempt++
  ) {
    reply = await tools.callModel(conversation);
  }
  return { raw: reply, text: reply };
}

async function sayReflected(conversation: History, tools: StrategyContext): Promise<UserReply> {
  let reply = await tools.callModel(conversation);
  for (
    let attempt = 1;
    attempt < REFLECTION_ATTEMPTS && !await isAccepted(reply, conversation, tools);
    attempt++
  ) {
    reply = await correctReply(reply, conversation, tools);
  }
  return { raw: reply, text: reply };
}

/**
 * True unless the judge rejects the reply. An unclear verdict counts as accepted, so that the episode
 * continues.
 */
async function isAccepted(reply: string, conversation: History, tools: StrategyContext): Promise<boolean> {
  const verdict = await tools.callModel(judgePrompt(
    "You judge whether a line is what the customer would say next. It is not when it says what neither the " +
      `instruction nor the talk tells, or ends the talk with ${USER_STOP} before everything is done. Answer ` +
      "'Classification: true' or 'Classification: false'.",
    { reply, conversation, instruction: tools.instruction },
  ));
  return !/\bfalse\b/i.test(verdict);
}

async function correctReply(reply: string, conversation: History, tools: StrategyContext): Promise<string> {
  const output = await tools.callModel(judgePrompt(
    "The line is not what the customer would say next. Think about why, and write a better one. Write it so:\n\n" +
      "Reflection: <why>\nResponse: <the better line>",
    { reply, conversation, instruction: tools.instruction },
  ));
  const [, corrected] = /Response:([^]*)$/.exec(output) ?? [];
  return corrected?.trim() || reply;
}

interface JudgedReply {
  readonly reply: string;
  readonly conversation: History;
  readonly instruction: string;
}

/** Builds the prompt of a judge, with the conversation as text and the reply separate from it. */
function judgePrompt(task: string, { reply, conversation, instruction }: JudgedReply): History {
  const lines = [...conversation].filter(({ role }) => role !== "system").map((message) =>
    `${message.role === "user" ? "Agent" : "Customer"}: ${messageText(message)}`
  );
  const parts = [`Instruction: ${instruction}`, `Talk:\n${lines.join("\n")}`, `Line: ${reply}`];
  return History.fromChats([
    { role: "system", content: task },
    { role: "user", content: parts.join("\n\n") },
  ]);
}
