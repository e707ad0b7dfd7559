/**
 * Transforms: behaviours around an environment, such as a Python interpreter, tools, a step limit or a grader.
 *
 * @module
 */
export {
  defineTransform,
  type PluginContext,
  type PluginTask,
  type RewardHookInput,
  type RewardHookResult,
  type StepHookInput,
  type StepHookResult,
  type TaskHookInput,
  type TransformDefinition,
} from "../src/plugins/definitions.ts";
export type { PluginFileOptions } from "../src/plugins/plugin_host.ts";
export { type FileTransforms, type TransformFile, transformFile } from "../src/plugins/transform_file.ts";
export { AddThinkingPrompt, type AddThinkingPromptOptions } from "../src/transforms/add_thinking_prompt.ts";
export { ConditionalSkip, type ConditionalSkipOptions } from "../src/transforms/conditional_skip.ts";
export { EndOnAnswer, EndOnFinalReply } from "../src/transforms/end_episode.ts";
export { GradeEpisode, type GradeEpisodeOptions } from "../src/transforms/grade_episode.ts";
export {
  IncrementalTokenizer,
  type IncrementalTokenizerOptions,
} from "../src/transforms/incremental_tokenizer.ts";
export { MCPToolTransform, type MCPToolTransformOptions } from "../src/transforms/mcp_tool_transform.ts";
export { PenalizeDenials, type PenalizeDenialsOptions } from "../src/transforms/penalize_denials.ts";
export { PolicyVersion, type PolicyVersionOptions } from "../src/transforms/policy_version.ts";
export {
  PythonInterpreter,
  type PythonInterpreterOptions,
  type ReplyLimits,
} from "../src/transforms/python_interpreter.ts";
export { type AuditedHack, RewardAudit, type RewardAuditOptions } from "../src/transforms/reward_audit.ts";
export { type HackKind, type HackSign } from "../src/transforms/reward_audit/hack_signs.ts";
export { StepCounter, type StepCounterOptions } from "../src/transforms/step_counter.ts";
export { ToolTransform, type ToolTransformOptions } from "../src/transforms/tool_transform.ts";
export type { Transform, TransformContext } from "../src/transforms/transform.ts";
export { TransformedEnv } from "../src/transforms/transformed_env.ts";
