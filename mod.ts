/**
 * Paddock runs the Python and the tool calls of a language model where they can hurt nothing.
 *
 * @example Run Python in a sandbox
 * ```ts
 * import { loadProfile, SandboxPool } from "@paddock/paddock";
 *
 * await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
 * await using lease = await pool.acquire();
 * const result = await lease.session.exec("sum(range(10))", { timeoutMs: 2_000 });
 * if (result.status !== "ok" || result.value !== "45") throw new Error(result.status);
 * ```
 *
 * @module
 */
// words
export { SerialQueue } from "./src/async/semaphore.ts";
export {
  DatasetError,
  EnvError,
  EpisodeError,
  type EpisodeFailure,
  GraderError,
  GuestFileError,
  type GuestFileErrorCode,
  McpError,
  ParserError,
  PolicyError,
  type PolicyFault,
  SandboxError,
  SessionClosedError,
  TokenError,
  ToolError,
  UserError,
} from "./src/errors.ts";
export { History } from "./src/history.ts";
export {
  type ContentPart,
  type Message,
  messageText,
  type ToolCall,
  type ToolSpec,
  toOpenaiTool,
} from "./src/message.ts";
export { deriveSeed, type Random, seededRandom } from "./src/seeded_random.ts";
export type { PublicTask, Task } from "./src/task.ts";
export { PADDOCK_VERSION } from "./src/version.ts";

// chat
export {
  ChatFormat,
  type ChatFormatOptions,
  renderChat,
  type RenderChatOptions,
  type RenderOptions,
} from "./src/chat/chat_format.ts";
export type {
  ChatTemplate,
  GenerationMarks,
  InverseParser,
  InverseParserOptions,
} from "./src/chat/chat_template.ts";
export {
  type AddChatTemplateOptions,
  ChatTemplates,
  type ChooseTemplateOptions,
} from "./src/chat/chat_templates.ts";
export {
  type ChatHistory,
  type ChatText,
  type ChatTokens,
  fromText,
  type FromTextOptions,
  historyToText,
  historyToTokens,
  textToHistory,
  textToTokens,
  type TextToTokensOptions,
  tokensToHistory,
  tokensToText,
} from "./src/chat/conversions.ts";
export { loadTokenizer, type LoadTokenizerOptions } from "./src/chat/load_tokenizer.ts";
export { tokenizeChat, type TokenizedChat } from "./src/chat/tokenize_chat.ts";
export type { Tokenizer } from "./src/chat/tokenizer.ts";
export { type ChatTurn, type SampledTurn, type TurnTokens, turnTokens } from "./src/chat/turns.ts";

// datasets
export type { Collate, CollateOptions } from "./src/datasets/collate.ts";
export {
  DataLoadingPrimer,
  type DataLoadingPrimerOptions,
  type EndlessTasksOptions,
  type TaskSource,
} from "./src/datasets/data_loading_primer.ts";
export type { DatasetFilesOptions } from "./src/datasets/files.ts";
export { readDataset, type ReadDatasetOptions } from "./src/datasets/read_dataset.ts";
export type { Rows, RowSource } from "./src/datasets/read_rows.ts";
export { readTasks, type ReadTasksOptions } from "./src/datasets/read_tasks.ts";
export type { Row } from "./src/datasets/row.ts";

// policy
export { calculatorPolicy } from "./src/policy/calculator.ts";
export type { ModelServerOptions } from "./src/policy/model_server.ts";
export { openaiPolicy, type OpenaiPolicyOptions } from "./src/policy/openai.ts";
export type { Policy, Reply, ReplyContext, TokenUsage } from "./src/policy/policy.ts";
export {
  type RepliesOfTask,
  scriptedPolicy,
  type ScriptedPolicyOptions,
  type ScriptedReply,
  ScriptFile,
  type ScriptFunction,
} from "./src/policy/scripted.ts";
export { sglangPolicy, type SglangPolicyOptions } from "./src/policy/sglang.ts";

// users
export { humanUser, type HumanUserOptions } from "./src/users/human_user.ts";
export { llmUser, type LlmUserOptions, type UserStrategyName } from "./src/users/llm_user.ts";
export {
  resumedUser,
  USER_STOP,
  type UserFactory,
  type UserInput,
  type UserSimulator,
  type UserTask,
  type UserTurnOptions,
} from "./src/users/user_simulator.ts";
export { scriptedUser, type UserScript } from "./src/users/scripted_user.ts";

// sandbox
export {
  type ExecOptions,
  type ExecResult,
  type ExecStatus,
  type GuestError,
  type HostTool,
  hostTool,
  type HostToolContext,
  type PythonSession,
  type ResetOptions,
  type SessionLease,
  type SessionPool,
  type ShellDeadline,
  type ShellOptions,
  type ShellResult,
} from "./src/sandbox/exec.ts";
export type { Grant, Grants } from "./src/sandbox/process/grants.ts";
export { activeLayers, detectLayers, type Layer, type LayerReport } from "./src/sandbox/process/layers.ts";
export type { Lease } from "./src/sandbox/lease.ts";
export type { Limits } from "./src/sandbox/profile/schema.ts";
export { SandboxPool, type SandboxPoolOptions } from "./src/sandbox/pool.ts";
export { loadProfile, parseProfile, type Preload, type Profile } from "./src/sandbox/profile/profile.ts";
export { Sandbox, type SandboxOptions } from "./src/sandbox/sandbox.ts";
export type { Session } from "./src/sandbox/session.ts";

// tools
export { type ToolFile, toolFile, type ToolFileOptions } from "./src/tools/file/tool_file.ts";
export { jsonCalls } from "./src/tools/parsers/json_calls.ts";
export { McpClients, type McpClientsOptions } from "./src/tools/mcp/mcp_clients.ts";
export type { McpCommand, McpModule, McpServer, McpUrl } from "./src/tools/mcp/mcp_server.ts";
export { llama3JsonCalls } from "./src/tools/parsers/llama3_json_calls.ts";
export { mistralCalls } from "./src/tools/parsers/mistral_calls.ts";
export { openaiCalls } from "./src/tools/parsers/openai_calls.ts";
export { pythonicCalls } from "./src/tools/parsers/pythonic_calls.ts";
export { qwen25Calls } from "./src/tools/parsers/qwen25_calls.ts";
export { pythonBlocks } from "./src/tools/python_blocks.ts";
export { RateLimiter, type RateLimiterOptions } from "./src/tools/rate_limiter.ts";
export type { RegistryStyleOptions } from "./src/tools/parsers/registry_style.ts";
export { resultText } from "./src/tools/result_text.ts";
export { shellTool, type ShellToolOptions } from "./src/tools/shell_tool.ts";
export {
  type JsonSchema,
  stopTool,
  type Tool,
  tool,
  type ToolContext,
  type ToolDefinition,
} from "./src/tools/tool.ts";
export { tagCalls, type TagCallsOptions } from "./src/tools/parsers/tag_calls.ts";
export type {
  ParsedCall,
  ParsedMessage,
  ResultStyle,
  ToolCallParser,
  ToolResponse,
} from "./src/tools/parsers/tool_call_parser.ts";
export type { ToolCallerOptions } from "./src/tools/tool_caller.ts";
export { type ToolFault, ToolParts, type ToolResult, type ToolStatus } from "./src/tools/tool_result.ts";
export type { ToolRunnerOptions } from "./src/tools/tool_runner.ts";
export { xmlCalls } from "./src/tools/parsers/xml_calls.ts";

// rewards
export type { GradeContext, Grader, Score } from "./src/rewards/grader.ts";
export { countdown } from "./src/rewards/countdown.ts";
export { countdownTasks, type CountdownTasksOptions } from "./src/rewards/countdown_tasks.ts";
export { exactMatch, numberMatch, patternMatch, type PatternMatchOptions } from "./src/rewards/text_match.ts";
export { gsm8k, type Gsm8kOptions } from "./src/rewards/gsm8k.ts";
export { hiddenTests, type HiddenTestsOptions } from "./src/rewards/hidden_tests.ts";
export { ifeval, type IfevalOptions } from "./src/rewards/ifeval.ts";
export { judge, type JudgeOptions } from "./src/rewards/judge.ts";
export type { TieredScoreOptions } from "./src/rewards/tiered_score.ts";
export { math } from "./src/rewards/math.ts";
export { rubric, type RubricItem, type RubricOptions } from "./src/rewards/rubric.ts";

// envs
export type { BatchShape, BatchTask, BatchTasks } from "./src/envs/batch.ts";
export { ChatEnv, type ChatEnvOptions } from "./src/envs/chat_env.ts";
export {
  type DatasetBatchOptions,
  DatasetChatEnv,
  type DatasetChatEnvOptions,
  type FromDataloaderOptions,
} from "./src/envs/dataset_chat_env.ts";
export {
  type Action,
  type Env,
  type Observation,
  replyAction,
  type ResetOptions as EnvResetOptions,
  type Step,
  type StepOptions,
} from "./src/envs/env.ts";
export { ToolUserChat, type ToolUserChatOptions, toolUserTask } from "./src/envs/tool_user_chat.ts";
export {
  isToolUserEnv,
  RESPOND,
  respondAction,
  type RewardInfo,
  type ToolInfo,
  type ToolUserAction,
  type ToolUserEnv,
  type ToolUserInfo,
  type ToolUserReset,
  type ToolUserResetOptions,
  type ToolUserStep,
  type ToolUserStepOptions,
} from "./src/envs/tool_user_env.ts";
export { TauBenchDomain, type TauBenchDomainOptions } from "./src/envs/tau_bench/tau_bench_domain.ts";
export { TauBenchEnv, type TauBenchEnvOptions } from "./src/envs/tau_bench/tau_bench_env.ts";
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
} from "./src/envs/vector_env.ts";
export type {
  AgentConfig,
  AgentTools,
  CommandFile,
  ParsedReply,
  ReplyCommand,
  ReplyParser,
} from "./src/envs/workspace/agent_config.ts";
export { loadAgentConfig } from "./src/envs/workspace/config/load_agent.ts";
export { loadWorkspaceTask } from "./src/envs/workspace/config/load_task.ts";
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
} from "./src/envs/workspace/evaluation.ts";
export {
  WorkspaceEvaluator,
  type WorkspaceEvaluatorOptions,
} from "./src/envs/workspace/evaluation/evaluator.ts";
export {
  type EvaluationOutput,
  EvaluationOutputParser,
} from "./src/envs/workspace/replies/evaluation_output.ts";
export { REPLY_PARSERS } from "./src/envs/workspace/replies/reply_parsers.ts";
export { Workspace, type WorkspaceOptions } from "./src/envs/workspace/workspace.ts";
export {
  WorkspaceEnv,
  type WorkspaceEnvOptions,
  workspaceEnvTask,
  type WorkspaceSource,
} from "./src/envs/workspace/workspace_env.ts";
export {
  type EvaluationPlan,
  type MetricDirection,
  requirePlayable,
  type Scores,
  type TemplateValue,
  type WorkspaceFile,
  type WorkspaceTask,
} from "./src/envs/workspace/task.ts";
export { Workspaces, type WorkspacesOptions } from "./src/envs/workspace/workspaces.ts";

// transforms
export { AddThinkingPrompt, type AddThinkingPromptOptions } from "./src/transforms/add_thinking_prompt.ts";
export { ConditionalSkip, type ConditionalSkipOptions } from "./src/transforms/conditional_skip.ts";
export { EndOnAnswer, EndOnFinalReply } from "./src/transforms/end_episode.ts";
export { GradeEpisode, type GradeEpisodeOptions } from "./src/transforms/grade_episode.ts";
export {
  IncrementalTokenizer,
  type IncrementalTokenizerOptions,
} from "./src/transforms/incremental_tokenizer.ts";
export { MCPToolTransform, type MCPToolTransformOptions } from "./src/transforms/mcp_tool_transform.ts";
export { IsolateCodeBlock, type IsolateCodeBlockOptions } from "./src/transforms/mlgym/isolate_code_block.ts";
export { MessageToHistory, type MessageToHistoryOptions } from "./src/transforms/mlgym/message_to_history.ts";
export {
  MLGymRewardAssignment,
  type MLGymRewardAssignmentOptions,
  type RewardAt,
} from "./src/transforms/mlgym/mlgym_reward_assignment.ts";
export { type MLGymRecord, mlgymRecordOf } from "./src/transforms/mlgym/mlgym_record.ts";
export { ReadState, StateToMessage } from "./src/transforms/mlgym/state_to_message.ts";
export { ResetModule } from "./src/transforms/mlgym/reset_module.ts";
export { TaskSampler, type TaskSamplerOptions } from "./src/transforms/mlgym/task_sampler.ts";
export {
  TemplateTransform,
  type TemplateTransformOptions,
} from "./src/transforms/mlgym/template_transform.ts";
export type { MLGymTasks } from "./src/transforms/mlgym/template_values.ts";
export { PolicyVersion, type PolicyVersionOptions } from "./src/transforms/policy_version.ts";
export { PythonInterpreter, type PythonInterpreterOptions } from "./src/transforms/python_interpreter.ts";
export { StepCounter, type StepCounterOptions } from "./src/transforms/step_counter.ts";
export { ToolTransform, type ToolTransformOptions } from "./src/transforms/tool_transform.ts";
export type { Transform, TransformContext } from "./src/transforms/transform.ts";
export { TransformedEnv } from "./src/transforms/transformed_env.ts";

// rollout
export type {
  EpisodeTimes,
  EpisodeTokens,
  ToolRecord,
  Trajectory,
  TurnRecord,
  Versions,
} from "./src/rollout/trajectory.ts";
export {
  type Episode,
  type EpisodesOptions,
  rolloutAll,
  type RolloutAllOptions,
} from "./src/rollout/rollout_all.ts";
export { gradeTrajectory, type GradeTrajectoryOptions } from "./src/rollout/grade_trajectory.ts";
export { readTrajectories, type ReadTrajectoriesOptions } from "./src/rollout/read_trajectories.ts";
export {
  type InteractionCall,
  type InteractionResult,
  type InteractionStatus,
  type InteractionTurn,
  parseInteraction,
  toInteractionResult,
} from "./src/rollout/interaction_result.ts";
export {
  makeMLGym,
  type MakeMLGymOptions,
  mlgymEnv,
  type MLGymEnvOptions,
  type MLGymOptions,
  mlgymTransforms,
  type MLGymTransformsOptions,
} from "./src/rollout/make_mlgym.ts";
export {
  limitToOneCall,
  trainingRollout,
  type TrainingRolloutOptions,
} from "./src/rollout/training_rollout.ts";
export { resumedPolicy, type ResumedPolicyOptions } from "./src/rollout/resumed_policy.ts";
export { rollout, type RolloutOptions } from "./src/rollout/rollout.ts";
export type { TokenMode, TokenOptions } from "./src/rollout/tokens/episode_writer.ts";
export { TokenFormat, type TokenFormatOptions } from "./src/rollout/tokens/token_format.ts";

// client
export {
  type BatchOutcome,
  type BatchProgram,
  PaddockClient,
  type PaddockClientOptions,
} from "./src/client/paddock_client.ts";
export type { RemoteLease } from "./src/client/remote_lease.ts";
export type { Fetch } from "./src/client/attempt.ts";
// server
export type { AccessOptions } from "./src/server/access.ts";
export { HttpServer, type HttpServerOptions } from "./src/server/http_server.ts";
export { PaddockServer, type PaddockServerOptions } from "./src/server/paddock_server.ts";
export type { RequestLimits } from "./src/server/limits.ts";
