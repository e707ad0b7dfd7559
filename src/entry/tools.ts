/**
 * Tools that a model may call: functions, tool files, MCP servers, and the parsers of tool calls.
 *
 * @module
 */
export { McpError, ParserError, ToolError } from "../errors.ts";
export { type ToolSpec, toOpenaiTool } from "../message.ts";
export { type ToolFile, toolFile, type ToolFileOptions } from "../tools/file/tool_file.ts";
export { jsonCalls } from "../tools/parsers/json_calls.ts";
export { McpClients, type McpClientsOptions } from "../tools/mcp/mcp_clients.ts";
export type { McpCommand, McpModule, McpServer, McpUrl } from "../tools/mcp/mcp_server.ts";
export { llama3JsonCalls } from "../tools/parsers/llama3_json_calls.ts";
export { mistralCalls } from "../tools/parsers/mistral_calls.ts";
export { openaiCalls } from "../tools/parsers/openai_calls.ts";
export { pythonicCalls } from "../tools/parsers/pythonic_calls.ts";
export { qwen25Calls } from "../tools/parsers/qwen25_calls.ts";
export { pythonBlocks } from "../tools/python_blocks.ts";
export { RateLimiter, type RateLimiterOptions } from "../tools/rate_limiter.ts";
export type { RegistryStyleOptions } from "../tools/parsers/registry_style.ts";
export { resultText } from "../tools/result_text.ts";
export { shellTool, type ShellToolOptions } from "../tools/shell_tool.ts";
export {
  type JsonSchema,
  stopTool,
  type Tool,
  tool,
  type ToolContext,
  type ToolDefinition,
} from "../tools/tool.ts";
export { tagCalls, type TagCallsOptions } from "../tools/parsers/tag_calls.ts";
export type {
  ParsedCall,
  ParsedMessage,
  ResultStyle,
  ToolCallParser,
  ToolResponse,
} from "../tools/parsers/tool_call_parser.ts";
export type { ToolCallerOptions } from "../tools/tool_caller.ts";
export { type ToolFault, ToolParts, type ToolResult, type ToolStatus } from "../tools/tool_result.ts";
export type { ToolRunnerOptions } from "../tools/tool_runner.ts";
export { xmlCalls } from "../tools/parsers/xml_calls.ts";
