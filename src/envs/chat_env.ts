import { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import type { Action, Env, Observation, Step } from "./env.ts";
import { fullHistory } from "./full_history.ts";

/** How a {@linkcode ChatEnv} starts its episodes. */
export interface ChatEnvOptions {
  /** Put before the query as a system message. */
  systemPrompt?: string | undefined;
}

/**
 * A conversation: `reset` asks the task's query, `step` puts the policy's messages behind it.
 *
 * It never ends and gives no reward by itself; transforms do that.
 */
export class ChatEnv implements Env {
  readonly #systemPrompt: string | undefined;
  #observation: Observation | undefined;
  #disposed = false;

  constructor(options: ChatEnvOptions = {}) {
    this.#systemPrompt = options.systemPrompt;
  }

  // deno-lint-ignore require-await
  async reset(task: Task): Promise<Observation> {
    if (this.#disposed) throw new Error("Cannot reset env as it is disposed");
    const system = this.#systemPrompt === undefined ? [] : [{ role: "system", content: this.#systemPrompt }];
    const prompt = History.fromChats([...system, ...queryMessages(task)]);
    return this.#observation = { task, history: { prompt } };
  }

  // deno-lint-ignore require-await
  async step(action: Action): Promise<Step> {
    if (this.#disposed) throw new Error("Cannot step as the env is disposed");
    if (this.#observation === undefined) throw new Error("Cannot step before the first reset");
    const { task, history } = this.#observation;
    const prompt = fullHistory(history.prompt, action);
    this.#observation = { task, history: { prompt } };
    return { task, history: { prompt }, reward: null, terminated: false, truncated: false, toolResults: [] };
  }

  // deno-lint-ignore require-await
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#observation = undefined;
  }
}

function queryMessages({ id, query }: Task): Iterable<Message> {
  if (query === "") throw new TypeError(`Cannot reset env as the query of task '${id}' is empty`);
  return typeof query === "string" ? [{ role: "user", content: query }] : query;
}
