/**
 * Rollouts: play episodes, record trajectories and training rows, read and grade them.
 *
 * @module
 */
export type { EpisodeLimits } from "../src/rollout/episode/episode_run.ts";
export { type AdvantageMethod, advantages, type AdvantagesOptions } from "../src/rollout/advantages.ts";
export {
  definePolicy,
  type PluginContext,
  type PluginTask,
  type PolicyDefinition,
  type PolicyInput,
} from "../src/plugins/definitions.ts";
export type { PluginFileOptions } from "../src/plugins/plugin_host.ts";
export { type PolicyFile, policyFile, type PolicyFileOptions } from "../src/plugins/policy_file.ts";
export { groupOf } from "../src/task.ts";
export type {
  BranchOrigin,
  EpisodeTimes,
  EpisodeTokens,
  ToolRecord,
  Trajectory,
  TurnRecord,
  Versions,
} from "../src/rollout/trajectory.ts";
export {
  type Episode,
  type EpisodesOptions,
  rolloutAll,
  type RolloutAllOptions,
} from "../src/rollout/rollout_all.ts";
export {
  type StreamedAdvantage,
  type StreamedRollout,
  streamRollouts,
  type StreamRolloutsOptions,
} from "../src/rollout/stream_rollouts.ts";
export {
  type EpisodeCut,
  type InteractionCall,
  type InteractionCodeCall,
  type InteractionResult,
  type InteractionStatus,
  type InteractionTurn,
  parseInteraction,
  toInteractionResult,
} from "../src/rollout/interaction_result.ts";
export type { GroupedEpisode } from "../src/rollout/open_groups.ts";
export {
  type ChatCheck,
  checkTokens,
  type CheckTokensOptions,
  type TokenReport,
} from "../src/rollout/check_tokens.ts";
export type { TokenProblem, TokenProblemKind } from "../src/rollout/tokens/token_problem.ts";
export { gradeTrajectory, type GradeTrajectoryOptions } from "../src/rollout/grade_trajectory.ts";
export { readTrajectories, type ReadTrajectoriesOptions } from "../src/rollout/read_trajectories.ts";
export {
  limitToOneCall,
  trainingRollout,
  type TrainingRolloutOptions,
} from "../src/rollout/training_rollout.ts";
export { resumedPolicy, type ResumedPolicyOptions } from "../src/rollout/resumed_policy.ts";
export { rollout, type RolloutOptions } from "../src/rollout/rollout.ts";
export type { CutScore } from "../src/rollout/episode/episode_score.ts";
export { rolloutRecursive, type RolloutRecursiveOptions } from "../src/rollout/rollout_recursive.ts";
export { type BranchPoint, rolloutTree, type RolloutTreeOptions } from "../src/rollout/rollout_tree.ts";
export type { TokenOptions } from "../src/rollout/tokens/episode_writer.ts";
export type { TokenMode } from "../src/rollout/tokens/turn_writers.ts";
