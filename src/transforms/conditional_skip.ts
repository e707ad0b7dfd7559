import { requireKnownOptions } from "../options.ts";
import type { Action } from "../envs/action.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode ConditionalSkip}. */
export interface ConditionalSkipOptions {
  /**
   * Returns true if the env must not receive this action. The context holds the observation that the policy
   * acted on.
   */
  cond: (action: Action, context: TransformContext) => boolean | Promise<boolean>;
}

/**
 * Skips the env when a condition holds. The step then repeats the last observation. Other transforms still
 * see the step and may add a reward or end the episode.
 *
 * A skipped action counts as a step, so a `StepCounter` bounds endless skips.
 *
 * @example
 * ```ts
 * import { ChatEnv, ConditionalSkip, replyAction, TransformedEnv } from "@paddock/paddock";
 *
 * const skip = new ConditionalSkip({ cond: ({ text }) => text?.response === "" });
 * await using env = new TransformedEnv(new ChatEnv(), [skip]);
 * await env.reset({ id: "1", query: "Hello" });
 * await env.step(replyAction("Hi"));
 * ```
 */
export class ConditionalSkip implements Transform {
  readonly #cond: ConditionalSkipOptions["cond"];

  constructor(options: ConditionalSkipOptions) {
    requireKnownOptions("create ConditionalSkip", options, { cond: true });
    this.#cond = options.cond;
  }

  async action(action: Action, context: TransformContext): Promise<Action> {
    return await this.#cond(action, context) ? { ...action, skip: true } : action;
  }
}
