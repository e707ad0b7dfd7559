/**
 * Tools that a model may call: functions, tool files, MCP servers, and the parsers of tool calls.
 *
 * @module
 */
export { McpError, ParserError, ToolError } from "../src/errors.ts";
export { type ToolSpec, toOpenaiTool } from "../src/message.ts";
export { type ToolFile, toolFile, type ToolFileOptions } from "../src/tools/file/tool_file.ts";
export type { PythonFileOptions } from "../src/plugins/python/python_file.ts";
export { type PythonTools, pythonTools } from "../src/plugins/python/python_tools.ts";
export { gemmaCalls } from "../src/tools/parsers/gemma_calls.ts";
export { harmonyCalls } from "../src/tools/parsers/harmony_calls.ts";
export { jsonCalls } from "../src/tools/parsers/json_calls.ts";
export { McpClients, type McpClientsOptions } from "../src/tools/mcp/mcp_clients.ts";
export type { McpCommand, McpModule, McpServer, McpUrl } from "../src/tools/mcp/mcp_server.ts";
export { llama3JsonCalls } from "../src/tools/parsers/llama3_json_calls.ts";
export {
  cohereCalls,
  deepseekCalls,
  graniteCalls,
  kimiCalls,
  lfm2Calls,
} from "../src/tools/parsers/marked_calls.ts";
export { mistralCalls } from "../src/tools/parsers/mistral_calls.ts";
export { openaiCalls } from "../src/tools/parsers/openai_calls.ts";
export { glmCalls, minimaxCalls, qwen3CoderCalls } from "../src/tools/parsers/parameter_calls.ts";
export { pythonicCalls } from "../src/tools/parsers/pythonic_calls.ts";
export { qwen25Calls } from "../src/tools/parsers/qwen25_calls.ts";
export type { BlockLanguage } from "../src/tools/code_blocks/block_tags.ts";
export type { BlocksNotRun, NotRunReason } from "../src/tools/code_blocks/blocks_not_run.ts";
export { type BlockPlace, type CodeBlock, codeBlocks } from "../src/tools/code_blocks/code_blocks.ts";
export {
  findPrograms,
  type FindProgramsOptions,
  type FoundPrograms,
  pythonBlocks,
  type RunnableBlocks,
} from "../src/tools/python_blocks.ts";
export { RateLimiter, type RateLimiterOptions } from "../src/tools/rate_limiter.ts";
export type { RegistryStyleOptions } from "../src/tools/parsers/registry_style.ts";
export { resultText } from "../src/tools/result_text.ts";
export { shellTool, type ShellToolOptions } from "../src/tools/shell_tool.ts";
export {
  type AllowedCaller,
  type JsonSchema,
  type JsonSchemaToolDefinition,
  stopTool,
  type Tool,
  tool,
  type ToolContext,
  type ToolDefinition,
} from "../src/tools/tool.ts";
export { tagCalls, type TagCallsOptions } from "../src/tools/parsers/tag_calls.ts";
export type {
  ParsedCall,
  ParsedMessage,
  ResultStyle,
  ToolCallParser,
  ToolResponse,
} from "../src/tools/parsers/tool_call_parser.ts";
export type { ToolCallerOptions } from "../src/tools/tool_caller.ts";
export {
  type CodeCall,
  type ToolFault,
  ToolParts,
  type ToolResult,
  type ToolStatus,
} from "../src/tools/tool_result.ts";
export type { MediaPlace } from "../src/sandbox/tool_value.ts";
export type { ToolSource } from "../src/tools/code_mode/episode_tools.ts";
export type { SharedTools, ToolGroup } from "../src/tools/code_mode/shared_tools.ts";
export type { CodeToolLimits } from "../src/tools/code_mode/call_limits.ts";
export { describeCodeTools } from "../src/tools/code_mode/describe.ts";
export {
  type CodeToolNames,
  type CodeToolSpec,
  withPythonNames,
} from "../src/tools/code_mode/python_names.ts";
export { pythonStubs } from "../src/tools/code_mode/python_stubs.ts";
export type { ToolRunnerOptions } from "../src/tools/tool_runner.ts";
export { xmlCalls } from "../src/tools/parsers/xml_calls.ts";
