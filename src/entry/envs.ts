/**
 * Environments: chats, data sets of chats, batches of environments, and the contract of an environment.
 *
 * @module
 */
export type { BatchShape, BatchTask, BatchTasks } from "../envs/batch.ts";
export { ChatEnv, type ChatEnvOptions } from "../envs/chat_env.ts";
export {
  type DatasetBatchOptions,
  DatasetChatEnv,
  type DatasetChatEnvOptions,
  type FromDataloaderOptions,
} from "../envs/dataset_chat_env.ts";
export {
  type Action,
  type Env,
  type EnvEnvResetOptions,
  type Observation,
  replyAction,
  type Step,
  type StepOptions,
} from "../envs/env.ts";
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
} from "../envs/vector_env.ts";
