import { requireKnownOptions } from "../options.ts";
import type { Observation, Step } from "../envs/env.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode StepCounter}. */
export interface StepCounterOptions {
  /**
   * Maximum number of steps of an episode.
   * @default Infinity
   */
  maxSteps?: number | undefined;
}

/**
 * Counts the steps of an episode as `stepCount`, including skipped ones, and truncates an episode that has
 * not terminated after `maxSteps`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, replyAction, StepCounter, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new StepCounter({ maxSteps: 1 })]);
 * await env.reset({ id: "1", query: "Hello" });
 * const { stepCount, truncated } = await env.step(replyAction("Hi"));
 * assertEquals(stepCount, 1);
 * assertEquals(truncated, true);
 * ```
 */
export class StepCounter implements Transform {
  readonly #maxSteps: number;

  /**
   * @throws {RangeError} when `maxSteps` is not an integer of at least 1.
   */
  constructor(options: StepCounterOptions = {}) {
    requireKnownOptions("create StepCounter", options, { maxSteps: true });
    const { maxSteps = Infinity } = options;
    if (maxSteps !== Infinity && (!Number.isInteger(maxSteps) || maxSteps < 1)) {
      throw new RangeError(
        `Cannot count steps as 'maxSteps' must be a whole number >= 1: current value is ${maxSteps}`,
      );
    }
    this.#maxSteps = maxSteps;
  }

  reset(observation: Observation): Observation {
    return { ...observation, stepCount: 0 };
  }

  step(step: Step, { turn }: TransformContext): Step {
    const truncated = step.truncated || (turn >= this.#maxSteps && !step.terminated);
    return { ...step, stepCount: turn, truncated };
  }
}
