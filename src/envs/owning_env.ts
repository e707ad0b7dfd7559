import type { Task } from "../task.ts";
import type { Action, Env, Observation, ResetOptions, Step, StepOptions } from "./env.ts";

/** An env that ends what was opened for it, once it has ended itself. */
export class OwningEnv implements Env {
  readonly #env: Env;
  readonly #owned: AsyncDisposable;

  constructor(env: Env, owned: AsyncDisposable) {
    this.#env = env;
    this.#owned = owned;
  }

  /** {@inheritDoc Env.reset} */
  reset(task: Task, options?: ResetOptions): Promise<Observation> {
    return this.#env.reset(task, options);
  }

  /** {@inheritDoc Env.step} */
  step(action: Action, options?: StepOptions): Promise<Step> {
    return this.#env.step(action, options);
  }

  /** Ends both. */
  async [Symbol.asyncDispose](): Promise<void> {
    await using ended = new AsyncDisposableStack();
    ended.use(this.#owned);
    ended.use(this.#env);
  }
}
