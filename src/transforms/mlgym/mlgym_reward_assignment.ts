import { requireKnownOptions } from "../../options.ts";
import type { Observation, Step } from "../../envs/env.ts";
import { computeGain, type WorkspaceEvaluation, workspaceViewOf } from "../../envs/workspace/evaluation.ts";
import type { EpisodeCheckpoint } from "../../episode_checkpoint.ts";
import type { Transform, TransformContext } from "../transform.ts";

/**
 * When a reward is given: for the work at the `end`; for each `improvement` over the best so far, which pays
 * the same work only once, except for random variation of the score; or for each `validate`, as in TorchRL,
 * and for the end if nothing was validated before.
 */
export type RewardAt = "end" | "improvement" | "validate";

/** Options of {@linkcode MLGymRewardAssignment}. */
export interface MLGymRewardAssignmentOptions {
  /**
   * When rewards are given.
   * @default "end"
   */
  rewardAt?: RewardAt | undefined;
}

/** The values of {@linkcode RewardAt}. */
export const REWARD_AT: readonly RewardAt[] = ["end", "improvement", "validate"];

/**
 * Adds the gain over the baseline to the reward, by the direction of the metric. The transform uses the
 * evaluator's measurement and never reads program output. Without a baseline, 0 is used.
 *
 * An episode that ends without a score gets reward 0, and `unscored` gives the reason.
 */
export class MLGymRewardAssignment implements Transform {
  readonly #rewardAt: RewardAt;
  /** Best gain over the baseline so far. */
  #best: number | undefined;

  /**
   * @throws {RangeError} when `rewardAt` is unknown.
   */
  constructor(options: MLGymRewardAssignmentOptions = {}) {
    requireKnownOptions("create MLGymRewardAssignment", options, { rewardAt: true });
    const { rewardAt = "end" } = options;
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
    const isEnd = step.terminated || step.truncated;
    // a skipped step that goes on has the view of the step before
    const evaluation = action?.skip && !isEnd ? undefined : workspaceViewOf(step)?.evaluation;
    const gain = evaluation === undefined ? null : gainOf(evaluation);
    const reward = gain === null ? undefined : this.#rewardOf(gain, isEnd);
    const isMissing = this.#rewardAt === "end" ? gain === null : gain === null && this.#best === undefined;
    if (gain !== null) this.#best = Math.max(gain, this.#best ?? -Infinity);
    if (reward !== undefined) return addReward(step, reward, evaluation?.metric);
    return isEnd && isMissing ? markUnscored(step, evaluation) : step;
  }

  /** {@inheritDoc Transform.checkpoint} */
  checkpoint(): EpisodeCheckpoint<MLGymRewardAssignment> {
    const best = this.#best;
    return {
      copy: () => {
        const copy = new MLGymRewardAssignment({ rewardAt: this.#rewardAt });
        copy.#best = best;
        return copy;
      },
    };
  }

  #rewardOf(gain: number, isEnd: boolean): number | undefined {
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

/** Returns the gain over the baseline, or over 0 without a baseline; `null` if there is no score. */
function gainOf(evaluation: WorkspaceEvaluation): number | null {
  const { baseline, metric = "" } = evaluation;
  const base = baseline !== null && Object.hasOwn(baseline, metric) ? baseline : { ...baseline, [metric]: 0 };
  return computeGain({ ...evaluation, baseline: base });
}

function addReward(step: Step, reward: number, metric = "score"): Step {
  return {
    ...step,
    reward: (step.reward ?? 0) + reward,
    rewardParts: { ...step.rewardParts, [metric]: reward },
  };
}

function markUnscored(step: Step, evaluation: WorkspaceEvaluation | undefined): Step {
  return { ...step, reward: step.reward ?? 0, unscored: reasonOf(evaluation) };
}

function reasonOf(evaluation: WorkspaceEvaluation | undefined): string {
  const outcome = evaluation?.outcome;
  if (outcome === undefined) return "the episode ended without an evaluation";
  if (outcome.status === "scored") return "the evaluation has no number for the metric";
  return outcome.status === "malformed" ? "the evaluation gave no metrics" : outcome.message;
}
