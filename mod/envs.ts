/**
 * Environments: chats, data sets of chats, batches of environments, and the contract of an environment.
 *
 * @module
 */
export type { BatchShape, BatchTask, BatchTasks } from "../src/envs/batch.ts";
export type { BranchingEnv, EnvCheckpoint } from "../src/envs/branching_env.ts";
export {
  ChatEnv,
  type ChatEnvOptions,
  type DatasetBatchOptions,
  DatasetChatEnv,
  type DatasetChatEnvOptions,
  type FromDataloaderOptions,
} from "../src/envs/chat_env.ts";
export { DatasetBatch, type DatasetSourceOptions, type SamplingOptions } from "../src/envs/dataset_batch.ts";
export {
  type Action,
  type ActionBase,
  type CommandAction,
  type MessageAction,
  replyAction,
  requireAction,
  type ResponseOrFull,
  type SkipAction,
  type TextAction,
  type TokenAction,
  type TokenResponse,
} from "../src/envs/action.ts";
export {
  defineEnv,
  type EnvContext,
  type EnvDefinition,
  type EnvResetInput,
  type EnvStepInput,
  type EnvStepResult,
  type EnvTool,
  type GraderInput,
  type PluginContext,
  type PluginTask,
} from "../src/plugins/definitions.ts";
export {
  type EnvDescription,
  type EnvFile,
  envFile,
  type FileEpisode,
  type FileStep,
} from "../src/plugins/env_file.ts";
export { pythonEnvFile, type PythonEnvFileOptions } from "../src/plugins/python/python_env.ts";
export { fileEnv, type FileEnvOptions } from "../src/rollout/file_env.ts";
export {
  type AnswerSubCall,
  isRecursiveEnv,
  type RecursiveEnv,
  type SubCall,
} from "../src/envs/rlm/recursive_env.ts";
export { RLM_SYSTEM } from "../src/envs/rlm/prompt.ts";
export { RlmEnv, type RlmEnvOptions } from "../src/envs/rlm/rlm_env.ts";
export type { Env, EnvResetOptions, Observation, Step, StepOptions } from "../src/envs/env.ts";
export {
  copyPlainData,
  type EpisodeCheckpoint,
  type EpisodeCheckpointOptions,
  type EpisodeCopyOptions,
  type EpisodeForkOptions,
} from "../src/episode_checkpoint.ts";
export {
  type MaskOptions,
  type ResetOutcome,
  type StepAndMaybeResetOptions,
  type StepAndMaybeResetResult,
  type StepOutcome,
  VectorEnv,
  type VectorEnvOptions,
  type VectorResetOptions,
  type VectorStepOptions,
} from "../src/envs/vector_env.ts";
export { Curriculum, type CurriculumOptions, type CurriculumState } from "../src/families/curriculum.ts";
export { FAMILY_NAMES, type FamilyName, MAX_DIFFICULTY } from "../src/families/names.ts";
export { familyTasks, type FamilyTasksOptions, type Split } from "../src/families/tasks.ts";
export { makeEnv, type MakeEnvOptions } from "../src/rollout/family_env.ts";
export {
  ReasoningGym,
  type ReasoningGymOptions,
  type ReasoningGymTasksOptions,
} from "../src/envs/reasoning_gym/reasoning_gym.ts";
export { checkHarborTasks, type HarborCheck, type HarborCheckOptions } from "../src/envs/harbor/check.ts";
export { findHarborTasks, loadHarborTask } from "../src/envs/harbor/config/load_task.ts";
export {
  type HarborEnd,
  HarborEnv,
  type HarborEnvOptions,
  harborEnvTask,
} from "../src/envs/harbor/harbor_env.ts";
export {
  type HarborSandboxes,
  HarborTasks,
  type HarborTasksOptions,
} from "../src/envs/harbor/harbor_tasks.ts";
export type {
  CarriedPaths,
  HarborFile,
  HarborSolution,
  HarborTask,
  ImagePlan,
  ImageStep,
  RewardFileName,
  VerifierPlan,
} from "../src/envs/harbor/task.ts";
