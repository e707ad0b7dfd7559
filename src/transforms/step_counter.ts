import type { Observation, Step } from "../envs/env.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** How far a {@linkcode StepCounter} counts. */
export interface StepCounterOptions {
  /** Steps that an episode may take; any number unless given. */
  maxSteps?: number | undefined;
}

/**
 * Counts an episode's steps, those that were skipped among them, as `stepCount`, and truncates an episode that is
 * still going on when there have been as many as it may take.
 */
export class StepCounter implements Transform {
  readonly #maxSteps: number;

  /** @throws {RangeError} when `maxSteps` is not a whole number of at least 1. */
  constructor(options: StepCounterOptions = {}) {
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
