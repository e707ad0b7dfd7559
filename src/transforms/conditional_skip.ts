import type { Action } from "../envs/env.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** When a {@linkcode ConditionalSkip} skips. */
export interface ConditionalSkipOptions {
  /** Whether the env is not to take this action; the context holds what the policy answered. */
  cond: (action: Action, context: TransformContext) => boolean | Promise<boolean>;
}

/**
 * Keeps an action from the env when a condition holds. The step is then the observation as it was; transforms see
 * it all the same, and may add a reward or end the episode.
 *
 * A skip is counted as a step, so that a `StepCounter` bounds one that never ends.
 */
export class ConditionalSkip implements Transform {
  readonly #cond: ConditionalSkipOptions["cond"];

  constructor(options: ConditionalSkipOptions) {
    this.#cond = options.cond;
  }

  async action(action: Action, context: TransformContext): Promise<Action> {
    return await this.#cond(action, context) ? { ...action, skip: true } : action;
  }
}
