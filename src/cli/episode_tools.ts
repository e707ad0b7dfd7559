import { errorMessage, McpError } from "../errors.ts";
import type { McpServer } from "../tools/mcp/mcp_server.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolTransform } from "../transforms/tool_transform.ts";
import type { Transform } from "../transforms/transform.ts";
import { CALL_STYLES } from "../tools/parsers/call_styles.ts";
import { readMcpFile } from "./mcp_file.ts";
import { lookUp } from "./named.ts";
import { checkUsage, UsageError } from "./usage_error.ts";

/** Which tools a run has beside Python. */
export interface ToolFlags {
  /** A JSONC file of MCP servers. */
  mcp?: string;
  /** TypeScript files that are tools. */
  tool?: readonly string[];
  /** How calls are written. */
  calls?: string;
  /** Milliseconds that a call may take. */
  timeoutMs: number;
}

/** Makes the tool transforms of one episode. */
export type MakeTools = () => readonly Transform[];

/**
 * Opens the tools that all episodes of a run share, and gives what makes each episode's transforms. Servers are
 * started, so that one that cannot be is found out here, and not by each episode.
 *
 * @throws {UsageError} when they cannot be had.
 */
export async function openTools(
  flags: ToolFlags,
  options: { stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<MakeTools> {
  const { stack, signal } = options;
  const { timeoutMs } = flags;
  const { parser } = lookUp(CALL_STYLES, flags.calls ?? "tag", "way to write calls");
  const tools = await openToolFiles(flags.tool ?? [], stack);
  checkUsage(() => new ToolTransform({ tools, parser: parser(), timeoutMs }));
  const servers = flags.mcp === undefined ? undefined : await readMcpFile(flags.mcp);
  const mcp = servers && await openServers(servers, { parser: parser(), timeoutMs, stack, signal });
  return () => [
    ...(mcp === undefined ? [] : [mcp()]),
    ...(tools.length === 0 ? [] : [new ToolTransform({ tools, parser: parser(), timeoutMs })]),
  ];
}

/**
 * Opens files that are tools, each in a process of its own.
 *
 * @throws {UsageError} when one cannot be had.
 */
export async function openToolFiles(paths: readonly string[], stack: AsyncDisposableStack): Promise<Tool[]> {
  if (paths.length === 0) return [];
  const { toolFile } = await import("../tools/file/tool_file.ts");
  return await Promise.all(paths.map(async (path) => {
    try {
      return stack.use(await toolFile(path));
    } catch (cause) {
      throw new UsageError(errorMessage(cause), { cause });
    }
  }));
}

/** The protocol's library is loaded only where it is of use: it takes longer to load than all the rest. */
async function openServers(
  servers: Record<string, McpServer>,
  options: Omit<ConstructorParameters<typeof ToolTransform>[0], "tools"> & {
    stack: AsyncDisposableStack;
    signal: AbortSignal;
  },
): Promise<() => Transform> {
  const { stack, signal, ...calls } = options;
  const { McpClients } = await import("../tools/mcp/mcp_clients.ts");
  const { MCPToolTransform } = await import("../transforms/mcp_tool_transform.ts");
  try {
    const clients = stack.use(new McpClients({ servers }));
    await clients.tools(signal);
    return () => new MCPToolTransform({ ...calls, clients });
  } catch (cause) {
    if (!(cause instanceof TypeError || cause instanceof McpError)) throw cause;
    throw new UsageError(cause.message, { cause });
  }
}
