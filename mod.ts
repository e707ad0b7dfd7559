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
export {
  DatasetError,
  EpisodeError,
  GraderError,
  McpError,
  PolicyError,
  SandboxError,
  ToolError,
} from "./src/errors.ts";
export { History } from "./src/history.ts";
export { type ContentPart, type Message, messageText, type ToolCall } from "./src/message.ts";
export { openaiTool, type ToolSpec } from "./src/tool_spec.ts";
export type { OpenTask, Task } from "./src/task.ts";
export { readTasks, type ReadTasksOptions } from "./src/datasets/read_tasks.ts";
export type { Policy, Reply, ReplyContext } from "./src/policy/policy.ts";
export { calculatorPolicy } from "./src/policy/calculator.ts";
export { scriptedPolicy } from "./src/policy/scripted.ts";
export type {
  ExecOptions,
  ExecResult,
  ExecStatus,
  GuestError,
  PythonSession,
  ResetOptions,
  SessionLease,
  SessionPool,
} from "./src/sandbox/exec.ts";
export { type HostTool, hostTool, type HostToolContext } from "./src/sandbox/host_tool.ts";
export { activeLayers, detectLayers, type Layer, type LayerReport } from "./src/sandbox/layers.ts";
export type { Lease } from "./src/sandbox/lease.ts";
export type { Limits } from "./src/sandbox/limits.ts";
export { SandboxPool, type SandboxPoolOptions } from "./src/sandbox/pool.ts";
export { loadProfile, parseProfile, type Profile } from "./src/sandbox/profile.ts";
export { Sandbox, type SandboxOptions } from "./src/sandbox/sandbox.ts";
export type { Session } from "./src/sandbox/session.ts";
export { pythonBlocks } from "./src/tools/python_blocks.ts";
export { resultText } from "./src/tools/result_text.ts";
export type { ToolResult, ToolStatus } from "./src/tools/tool_result.ts";
export type { GradeContext, Grader, Score } from "./src/rewards/grader.ts";
export { numberMatch } from "./src/rewards/number_match.ts";
export type {
  Action,
  Env,
  Observation,
  ResetOptions as EnvResetOptions,
  Step,
  StepOptions,
} from "./src/envs/env.ts";
export { ChatEnv, type ChatEnvOptions } from "./src/envs/chat_env.ts";
export { endOnFinalReply } from "./src/transforms/end_on_final_reply.ts";
export { gradeEpisode, type GradeEpisodeOptions } from "./src/transforms/grade_episode.ts";
export { PythonInterpreter, type PythonInterpreterOptions } from "./src/transforms/python_interpreter.ts";
export { StepCounter, type StepCounterOptions } from "./src/transforms/step_counter.ts";
export type { Transform, TransformContext } from "./src/transforms/transform.ts";
export { TransformedEnv } from "./src/transforms/transformed_env.ts";
export { rollout, type RolloutOptions } from "./src/rollout/rollout.ts";
export { rolloutAll, type RolloutAllOptions } from "./src/rollout/rollout_all.ts";
export type { EpisodeFailure, EpisodeTimes, ToolRecord, Trajectory } from "./src/rollout/trajectory.ts";
export { replyAction } from "./src/envs/env.ts";
