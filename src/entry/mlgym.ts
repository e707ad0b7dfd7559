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
} from "../envs/workspace/agent_config.ts";
export { loadAgentConfig } from "../envs/workspace/config/load_agent.ts";
export { loadWorkspaceTask } from "../envs/workspace/config/load_task.ts";
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
} from "../envs/workspace/evaluation.ts";
export {
  WorkspaceEvaluator,
  type WorkspaceEvaluatorOptions,
} from "../envs/workspace/evaluation/evaluator.ts";
export {
  type EvaluationOutput,
  EvaluationOutputParser,
} from "../envs/workspace/replies/evaluation_output.ts";
export { REPLY_PARSERS } from "../envs/workspace/replies/reply_parsers.ts";
export { Workspace, type WorkspaceOptions } from "../envs/workspace/workspace.ts";
export {
  WorkspaceEnv,
  type WorkspaceEnvOptions,
  workspaceEnvTask,
  type WorkspaceSource,
} from "../envs/workspace/workspace_env.ts";
export {
  type EvaluationPlan,
  type MetricDirection,
  requirePlayable,
  type Scores,
  type TemplateValue,
  type WorkspaceFile,
  type WorkspaceTask,
} from "../envs/workspace/task.ts";
export { Workspaces, type WorkspacesOptions } from "../envs/workspace/workspaces.ts";
export { IsolateCodeBlock, type IsolateCodeBlockOptions } from "../transforms/mlgym/isolate_code_block.ts";
export { MessageToHistory, type MessageToHistoryOptions } from "../transforms/mlgym/message_to_history.ts";
export {
  MLGymRewardAssignment,
  type MLGymRewardAssignmentOptions,
  type RewardAt,
} from "../transforms/mlgym/mlgym_reward_assignment.ts";
export { type MLGymRecord, mlgymRecordOf } from "../transforms/mlgym/mlgym_record.ts";
export { ReadState, StateToMessage } from "../transforms/mlgym/state_to_message.ts";
export { ResetModule } from "../transforms/mlgym/reset_module.ts";
export { TaskSampler, type TaskSamplerOptions } from "../transforms/mlgym/task_sampler.ts";
export { TemplateTransform, type TemplateTransformOptions } from "../transforms/mlgym/template_transform.ts";
export type { MLGymTasks } from "../transforms/mlgym/template_values.ts";
export {
  makeMLGym,
  type MakeMLGymOptions,
  mlgymEnv,
  type MLGymEnvOptions,
  type MLGymOptions,
  mlgymTransforms,
  type MLGymTransformsOptions,
} from "../rollout/make_mlgym.ts";
