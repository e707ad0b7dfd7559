/**
 * MLGym workspaces: environments in which an agent edits files in a shell and submits its work.
 *
 * @module
 */
export type {
  AgentConfig,
  AgentTools,
  CommandFile,
  ParsedReply,
  ReplyCommand,
  ReplyParser,
} from "../src/envs/workspace/agent_config.ts";
export { loadAgentConfig } from "../src/envs/workspace/config/load_agent.ts";
export { loadWorkspaceTask } from "../src/envs/workspace/config/load_task.ts";
export {
  type EvaluateOptions,
  type EvaluationOutcome,
  type Evaluator,
  type Submission,
  type WorkspaceEvaluation,
  type WorkspaceObservation,
  type WorkspaceStep,
  type WorkspaceView,
  workspaceViewOf,
} from "../src/envs/workspace/evaluation.ts";
export {
  WorkspaceEvaluator,
  type WorkspaceEvaluatorOptions,
} from "../src/envs/workspace/evaluation/evaluator.ts";
export {
  type EvaluationOutput,
  EvaluationOutputParser,
} from "../src/envs/workspace/replies/evaluation_output.ts";
export { REPLY_PARSERS } from "../src/envs/workspace/replies/reply_parsers.ts";
export { profileOfTask, Workspace, type WorkspaceOptions } from "../src/envs/workspace/workspace.ts";
export {
  WorkspaceEnv,
  type WorkspaceEnvOptions,
  workspaceEnvTask,
  type WorkspaceSource,
} from "../src/envs/workspace/workspace_env.ts";
export {
  type EvaluationPlan,
  type MetricDirection,
  requirePlayable,
  type Scores,
  type TemplateValue,
  type WorkspaceFile,
  type WorkspaceTask,
} from "../src/envs/workspace/task.ts";
export { Workspaces, type WorkspacesOptions } from "../src/envs/workspace/workspaces.ts";
export {
  IsolateCodeBlock,
  type IsolateCodeBlockOptions,
} from "../src/transforms/mlgym/isolate_code_block.ts";
export {
  MessageToHistory,
  type MessageToHistoryOptions,
} from "../src/transforms/mlgym/message_to_history.ts";
export {
  MLGymRewardAssignment,
  type MLGymRewardAssignmentOptions,
  type RewardAt,
} from "../src/transforms/mlgym/mlgym_reward_assignment.ts";
export { type MLGymRecord, mlgymRecordOf } from "../src/transforms/mlgym/mlgym_record.ts";
export { ReadState, StateToMessage } from "../src/transforms/mlgym/state_to_message.ts";
export { ResetModule } from "../src/transforms/mlgym/reset_module.ts";
export { TaskSampler, type TaskSamplerOptions } from "../src/transforms/mlgym/task_sampler.ts";
export {
  TemplateTransform,
  type TemplateTransformOptions,
} from "../src/transforms/mlgym/template_transform.ts";
export type { MLGymTasks } from "../src/transforms/mlgym/template_values.ts";
export {
  makeMLGym,
  type MakeMLGymOptions,
  mlgymEnv,
  type MLGymEnvOptions,
  type MLGymOptions,
  mlgymTransforms,
  type MLGymTransformsOptions,
} from "../src/rollout/envs/make_mlgym.ts";
