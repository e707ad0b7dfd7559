import type { Task } from "../task.ts";
import type { Action, Env, Observation, ResetOptions, Step, StepOptions } from "./env.ts";

/** Env that also disposes a resource that was opened for it, after the env itself. */
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

  /** Disposes the env, then the resource. */
  async [Symbol.asyncDispose](): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.use(this.#owned);
    stack.use(this.#env);
  }
}
