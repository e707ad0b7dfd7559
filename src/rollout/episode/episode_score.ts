import type { Step } from "../../envs/env.ts";
import { describeCut, type Trajectory } from "../trajectory.ts";

/** Score of an episode that a limit of tokens cut off: by the grader, or no score. */
export type CutScore = "grade" | "none";

/** Returns the trajectory with the reward of a step added. */
export function withReward(
  trajectory: Trajectory,
  { reward, rewardParts, unscored }: Pick<Step, "reward" | "rewardParts" | "unscored">,
): Trajectory {
  return {
    ...trajectory,
    reward: reward === null ? trajectory.reward : (trajectory.reward ?? 0) + reward,
    ...(rewardParts && { rewardParts: { ...trajectory.rewardParts, ...rewardParts } }),
    ...(unscored !== undefined && { unscored }),
  };
}

/** Removes the score of an episode that was cut off, if such episodes are not scored. */
export function withCutScore(trajectory: Trajectory, cutScore: CutScore = "grade"): Trajectory {
  const { cut, rewardParts } = trajectory;
  if (cut === undefined || cutScore === "grade") return trajectory;
  const parts = rewardParts && Object.fromEntries(Object.keys(rewardParts).map((name) => [name, null]));
  return {
    ...trajectory,
    reward: null,
    ...(parts && { rewardParts: parts }),
    unscored: `the episode was cut off ${describeCut(cut)}`,
  };
}
