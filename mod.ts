/**
 * Paddock is a sandboxed tool-execution runtime for reinforcement learning of language models. This module exports
 * what an episode needs; the other entry points (`@paddock/paddock/sandbox`, …) have one subject each.
 *
 * @example Run Python in a sandbox
 * ```ts
 * import { Sandbox } from "@paddock/paddock";
 *
 * await using sandbox = await Sandbox.start();
 * await using session = await sandbox.openSession();
 * const result = await session.exec("sum(range(10))", { timeoutMs: 2_000 });
 * if (result.status !== "ok" || result.value !== "45") throw new Error(result.status);
 * ```
 *
 * @module
 */
export {
  EpisodeError,
  type EpisodeFailure,
  GraderError,
  PolicyError,
  type PolicyFault,
  SandboxError,
  ToolError,
} from "./src/errors.ts";
export { History } from "./src/history.ts";
export { type ContentPart, type Message, messageText, type ToolCall } from "./src/message.ts";
export { groupOf, type PublicTask, type Task, type TaskInput } from "./src/task.ts";
export { PADDOCK_VERSION } from "./src/version.ts";
export { loadTokenizer } from "./src/chat/load_tokenizer.ts";
export type { Tokenizer } from "./src/chat/tokenizer.ts";
export { readDataset } from "./src/datasets/read_dataset.ts";
export { readTasks } from "./src/datasets/read_tasks.ts";
export { calculatorPolicy } from "./src/policy/calculator.ts";
export type { ModelServerOptions } from "./src/policy/model_server.ts";
export { type OpenaiApi, openaiPolicy, type OpenaiPolicyOptions } from "./src/policy/openai.ts";
export type { Policy, RecordedChat, Reply, ReplyContext, TokenUsage } from "./src/policy/policy.ts";
export {
  type RepliesOfTask,
  scriptedPolicy,
  type ScriptedPolicyOptions,
  type ScriptedReply,
  ScriptFile,
  type ScriptFunction,
} from "./src/policy/scripted.ts";
export { sglangPolicy, type SglangPolicyOptions } from "./src/policy/sglang.ts";
export { llamaCppPolicy, type LlamaCppPolicyOptions } from "./src/policy/llama_cpp.ts";
export type { ExecResult } from "./src/sandbox/contract/exec.ts";
export type { SessionPool } from "./src/sandbox/contract/pool.ts";
export { type OkResult, orThrow, ProgramError } from "./src/sandbox/or_throw.ts";
export { SandboxPool } from "./src/sandbox/pool.ts";
export { loadProfile, type Profile } from "./src/sandbox/profile/profile.ts";
export { Sandbox, type SandboxOptions } from "./src/sandbox/sandbox.ts";
export type { BlockLanguage } from "./src/tools/code_blocks/block_tags.ts";
export type { BlocksNotRun, NotRunReason } from "./src/tools/code_blocks/blocks_not_run.ts";
export { type BlockPlace, type CodeBlock, codeBlocks } from "./src/tools/code_blocks/code_blocks.ts";
export { toolFile } from "./src/tools/file/tool_file.ts";
export {
  findPrograms,
  type FindProgramsOptions,
  type FoundPrograms,
  pythonBlocks,
  type RunnableBlocks,
} from "./src/tools/python_blocks.ts";
export { shellTool } from "./src/tools/shell_tool.ts";
export { type Tool, tool } from "./src/tools/tool.ts";
export type { GradeContext, Grader, Score } from "./src/rewards/grader.ts";
export { countdown } from "./src/rewards/countdown.ts";
export { exactMatch, numberMatch, patternMatch } from "./src/rewards/text_match.ts";
export { gsm8k } from "./src/rewards/gsm8k.ts";
export { GraderPool } from "./src/rewards/worker/grader_pool.ts";
export { hiddenTests } from "./src/rewards/hidden_tests.ts";
export { ifeval } from "./src/rewards/ifeval.ts";
export { judge } from "./src/rewards/judge.ts";
export { math } from "./src/rewards/math.ts";
export { rubric } from "./src/rewards/rubric.ts";
export type { BranchingEnv } from "./src/envs/branching_env.ts";
export { ChatEnv, DatasetChatEnv } from "./src/envs/chat_env.ts";
export { type Action, replyAction } from "./src/envs/action.ts";
export type { Env, EnvResetOptions, Observation, Step, StepOptions } from "./src/envs/env.ts";
export { RlmEnv, type RlmEnvOptions } from "./src/envs/rlm/rlm_env.ts";
export { VectorEnv } from "./src/envs/vector_env.ts";
export { AddThinkingPrompt } from "./src/transforms/add_thinking_prompt.ts";
export { ConditionalSkip } from "./src/transforms/conditional_skip.ts";
export { EndOnAnswer, EndOnFinalReply } from "./src/transforms/end_episode.ts";
export { GradeEpisode } from "./src/transforms/grade_episode.ts";
export { IncrementalTokenizer } from "./src/transforms/incremental_tokenizer.ts";
export { MCPToolTransform } from "./src/transforms/mcp_tool_transform.ts";
export { PolicyVersion } from "./src/transforms/policy_version.ts";
export { PythonInterpreter } from "./src/transforms/python_interpreter.ts";
export { StepCounter } from "./src/transforms/step_counter.ts";
export { ToolTransform } from "./src/transforms/tool_transform.ts";
export type { Transform, TransformContext } from "./src/transforms/transform.ts";
export { TransformedEnv } from "./src/transforms/transformed_env.ts";
export type { Trajectory } from "./src/rollout/trajectory.ts";
export { advantages, type AdvantagesOptions } from "./src/rollout/advantages.ts";
export { rolloutAll, type RolloutAllOptions } from "./src/rollout/rollout_all.ts";
export {
  type StreamedRollout,
  streamRollouts,
  type StreamRolloutsOptions,
} from "./src/rollout/stream_rollouts.ts";
export { gradeTrajectory } from "./src/rollout/grade_trajectory.ts";
export { readTrajectories } from "./src/rollout/read_trajectories.ts";
export { trainingRollout, type TrainingRolloutOptions } from "./src/rollout/training_rollout.ts";
export { rollout, type RolloutOptions } from "./src/rollout/rollout.ts";
export { rolloutRecursive, type RolloutRecursiveOptions } from "./src/rollout/rollout_recursive.ts";
export { rolloutTree, type RolloutTreeOptions } from "./src/rollout/rollout_tree.ts";
