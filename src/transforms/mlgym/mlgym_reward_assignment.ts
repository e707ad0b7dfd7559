import type { Observation, Step } from "../../envs/env.ts";
import { evaluationGain } from "../../envs/workspace/evaluation_gain.ts";
import { type WorkspaceEvaluation, workspaceViewOf } from "../../envs/workspace/workspace_view.ts";
import type { Transform, TransformContext } from "../transform.ts";

/**
 * What is worth a reward: the work at the `end` alone; each `improvement` on the best so far, which pays the same work
 * once, but for the luck of a game of chance; or each `validate`, as in TorchRL, and the end where nothing was validated
 * before.
 */
export type RewardAt = "end" | "improvement" | "validate";

/** When an {@linkcode MLGymRewardAssignment} gives rewards. */
export interface MLGymRewardAssignmentOptions {
  /** The `end` unless given. */
  rewardAt?: RewardAt | undefined;
}

/** All that a reward may be given for. */
export const REWARD_AT: readonly RewardAt[] = ["end", "improvement", "validate"];

/**
 * Adds to the reward how much better than the baseline the work is, by the direction of its metric, from what the
 * evaluator measured: what a program prints is never read. Without a baseline, 0 takes its place.
 *
 * An episode that ends without a score is worth 0, and `unscored` says why.
 */
export class MLGymRewardAssignment implements Transform {
  readonly #rewardAt: RewardAt;
  /** How much better than the baseline the best work was; nothing before there is any. */
  #best: number | undefined;

  /** @throws {RangeError} when nobody knows `rewardAt`. */
  constructor({ rewardAt = "end" }: MLGymRewardAssignmentOptions = {}) {
    if (!REWARD_AT.includes(rewardAt)) {
      throw new RangeError(
        `Cannot assign rewards as 'rewardAt' must be one of ${
          REWARD_AT.join(", ")
        }: current value is '${rewardAt}'`,
      );
    }
    this.#rewardAt = rewardAt;
  }

  reset(observation: Observation): Observation {
    this.#best = undefined;
    return observation;
  }

  step(step: Step, { action }: TransformContext): Step {
    const evaluation = action?.skip ? undefined : workspaceViewOf(step)?.evaluation;
    const isEnd = step.terminated || step.truncated;
    const gain = evaluation === undefined ? null : gainOf(evaluation);
    const worth = gain === null ? undefined : this.#worth(gain, isEnd);
    const isMissing = this.#rewardAt === "end" ? gain === null : gain === null && this.#best === undefined;
    if (gain !== null) this.#best = Math.max(gain, this.#best ?? -Infinity);
    if (worth !== undefined) return rewarded(step, worth, evaluation?.metric);
    return isEnd && isMissing ? unscored(step, evaluation) : step;
  }

  #worth(gain: number, isEnd: boolean): number | undefined {
    switch (this.#rewardAt) {
      case "validate":
        return isEnd && this.#best !== undefined ? undefined : gain;
      case "improvement":
        return Math.max(0, gain - Math.max(0, this.#best ?? 0));
      default:
        return isEnd ? gain : undefined;
    }
  }
}

/** How much better than the baseline the work is, or than 0 where there is none; `null` where it has no score. */
function gainOf(evaluation: WorkspaceEvaluation): number | null {
  const { baseline, metric = "" } = evaluation;
  const base = baseline !== null && Object.hasOwn(baseline, metric) ? baseline : { ...baseline, [metric]: 0 };
  return evaluationGain({ ...evaluation, baseline: base });
}

function rewarded(step: Step, worth: number, metric = "score"): Step {
  return {
    ...step,
    reward: (step.reward ?? 0) + worth,
    rewardParts: { ...step.rewardParts, [metric]: worth },
  };
}

function unscored(step: Step, evaluation: WorkspaceEvaluation | undefined): Step {
  return { ...step, reward: step.reward ?? 0, unscored: reasonOf(evaluation) };
}

function reasonOf(evaluation: WorkspaceEvaluation | undefined): string {
  const outcome = evaluation?.outcome;
  if (outcome === undefined) return "the episode ended without an evaluation";
  if (outcome.status === "scored") return "the evaluation has no number for the metric";
  return outcome.status === "malformed" ? "the evaluation gave no metrics" : outcome.message;
}
