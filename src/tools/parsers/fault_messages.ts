import { pythonFloat } from "../python_repr.ts";
import { UNNAMED } from "./tool_call_parser.ts";
import type { ToolFault } from "../tool_result.ts";

/** Returns the message that a model reads about a failed call, worded as in TorchRL's simple tools. */
export function simpleFaultMessage(fault: ToolFault, name: string): string {
  switch (fault.kind) {
    case "unknown_tool":
      return `Tool ${name} not found`;
    case "unreadable":
      return `Failed to parse tool arguments: ${fault.reason}`;
    case "bad_arguments":
      return `Tool arguments are not valid: ${fault.reason}`;
    case "timeout":
      return `Tool execution timed out after ${pythonFloat(fault.timeoutMs / 1000)} seconds`;
    case "error":
      return `Tool execution failed: ${fault.reason}`;
    case "refused":
      return `Tool was not executed: ${fault.reason}`;
  }
}

/** Returns the message about a failed call, worded as in TorchRL's MCP tools. */
export function mcpFaultMessage(fault: ToolFault, name: string): string {
  if (fault.kind === "timeout") {
    return `Tool execution timed out after ${pythonFloat(fault.timeoutMs / 1000)}s`;
  }
  return fault.kind === "error" ? fault.reason : simpleFaultMessage(fault, name);
}

/**
 * Returns the message about a failed call, worded as in TorchRL's tool registry: a tool's own error has no
 * prefix.
 */
export function registryFaultMessage(fault: ToolFault, name: string): string {
  if (fault.kind === "unknown_tool") return `'Unknown tool: ${name}'`;
  return fault.kind === "error" ? fault.reason : agenticFaultMessage(fault, name);
}

/** Returns the message about a failed call, worded as in TorchRL's agentic tools. */
export function agenticFaultMessage(fault: ToolFault, name: string): string {
  switch (fault.kind) {
    case "unknown_tool":
      return `unknown tool: '${name}'`;
    case "unreadable":
      return name === UNNAMED
        ? `failed to parse the call: ${fault.reason}`
        : `failed to parse the arguments of '${name}': ${fault.reason}`;
    case "bad_arguments":
      return `argument validation failed for '${name}': ${fault.reason}`;
    case "timeout":
      return `tool '${name}' timed out after ${pythonFloat(fault.timeoutMs / 1000)}s`;
    case "error":
      return `tool '${name}' failed: ${fault.reason}`;
    case "refused":
      return `tool '${name}' was not run: ${fault.reason}`;
  }
}
