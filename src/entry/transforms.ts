/**
 * Transforms: behaviours around an environment, such as a Python interpreter, tools, a step limit or a grader.
 *
 * @module
 */
export { AddThinkingPrompt, type AddThinkingPromptOptions } from "../transforms/add_thinking_prompt.ts";
export { ConditionalSkip, type ConditionalSkipOptions } from "../transforms/conditional_skip.ts";
export { EndOnAnswer, EndOnFinalReply } from "../transforms/end_episode.ts";
export { GradeEpisode, type GradeEpisodeOptions } from "../transforms/grade_episode.ts";
export {
  IncrementalTokenizer,
  type IncrementalTokenizerOptions,
} from "../transforms/incremental_tokenizer.ts";
export { MCPToolTransform, type MCPToolTransformOptions } from "../transforms/mcp_tool_transform.ts";
export { PolicyVersion, type PolicyVersionOptions } from "../transforms/policy_version.ts";
export { PythonInterpreter, type PythonInterpreterOptions } from "../transforms/python_interpreter.ts";
export { StepCounter, type StepCounterOptions } from "../transforms/step_counter.ts";
export { ToolTransform, type ToolTransformOptions } from "../transforms/tool_transform.ts";
export type { Transform, TransformContext } from "../transforms/transform.ts";
export { TransformedEnv } from "../transforms/transformed_env.ts";
