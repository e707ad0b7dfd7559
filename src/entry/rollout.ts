/**
 * Rollouts: play episodes, record trajectories and training rows, read and grade them.
 *
 * @module
 */
export type {
  EpisodeTimes,
  EpisodeTokens,
  ToolRecord,
  Trajectory,
  TurnRecord,
  Versions,
} from "../rollout/trajectory.ts";
export {
  type Episode,
  type EpisodesOptions,
  rolloutAll,
  type RolloutAllOptions,
} from "../rollout/rollout_all.ts";
export { gradeTrajectory, type GradeTrajectoryOptions } from "../rollout/grade_trajectory.ts";
export { readTrajectories, type ReadTrajectoriesOptions } from "../rollout/read_trajectories.ts";
export { limitToOneCall, trainingRollout, type TrainingRolloutOptions } from "../rollout/training_rollout.ts";
export { resumedPolicy, type ResumedPolicyOptions } from "../rollout/resumed_policy.ts";
export { rollout, type RolloutOptions } from "../rollout/rollout.ts";
export type { TokenMode, TokenOptions } from "../rollout/tokens/episode_writer.ts";
