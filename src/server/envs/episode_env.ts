import type { Action } from "../../envs/action.ts";
import {
  type Env,
  type EnvResetOptions,
  type Observation,
  type Step,
  type StepOptions,
  truncateEnv,
} from "../../envs/env.ts";
import { EpisodeError } from "../../errors.ts";
import { messageText } from "../../message.ts";
import type { Task } from "../../task.ts";
import type { BudgetLease } from "../admission/budget.ts";
import { toEnvError } from "../http/http_errors.ts";
import { MEMORY_PER_CHARACTER } from "../limits.ts";

/** Options of {@linkcode EpisodeEnv}. */
export interface EpisodeEnvOptions {
  readonly env: Env;
  /** Sessions of its Python; disposed with it. */
  readonly sessions: AsyncDisposable;
  /** Memory of its conversation; disposed with it. */
  readonly memory: BudgetLease;
  /** Called with each error of the env, which the client sees in its public form only. */
  readonly onError: (thrown: unknown) => void;
}

/** Env of an episode that the server itself plays. Its conversation counts as memory of the owner. */
export class EpisodeEnv implements Env {
  readonly #options: EpisodeEnvOptions;

  constructor(options: EpisodeEnvOptions) {
    this.#options = options;
  }

  /** {@inheritDoc Env.reset} */
  async reset(task: Task, options: EnvResetOptions = {}): Promise<Observation> {
    return await this.#use(() => this.#options.env.reset(task, options), options.signal);
  }

  /** {@inheritDoc Env.step} */
  async step(action: Action, options: StepOptions = {}): Promise<Step> {
    return await this.#use(() => this.#options.env.step(action, options), options.signal);
  }

  /** {@inheritDoc Env.truncate} */
  async truncate(observation: Observation, options: StepOptions = {}): Promise<Step> {
    return await this.#use(() => truncateEnv(this.#options.env, observation, options), options.signal);
  }

  /** Ends its session and frees its memory. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { env, sessions, memory } = this.#options;
    await using stack = new AsyncDisposableStack();
    stack.use(memory);
    stack.use(sessions);
    stack.use(env);
  }

  async #use<T extends Observation>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { memory, onError } = this.#options;
    try {
      const observation = await work();
      memory.resize(MEMORY_PER_CHARACTER * charactersOf(observation));
      return observation;
    } catch (error) {
      if (signal?.aborted) throw error;
      onError(toEnvError(error));
      throw new PublicEpisodeError(error);
    }
  }
}

function charactersOf({ history }: Observation): number {
  return [...history.prompt].reduce((sum, message) => sum + messageText(message).length, 0);
}

/** The error of an episode with the message that its client may see. */
class PublicEpisodeError extends EpisodeError {
  override readonly boundary: EpisodeError["boundary"];
  readonly #name: string;

  constructor(cause: unknown) {
    super(toEnvError(cause).message, { cause });
    this.boundary = cause instanceof EpisodeError ? cause.boundary : "env";
    this.#name = cause instanceof Error ? cause.name : "EnvError";
  }

  override get name(): string {
    return this.#name;
  }
}
