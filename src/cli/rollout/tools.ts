import { parse } from "@std/jsonc";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { McpError } from "../../errors.ts";
import type { McpServer } from "../../tools/mcp/mcp_server.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import type { Tool } from "../../tools/tool.ts";
import { ToolTransform } from "../../transforms/tool_transform.ts";
import type { Transform } from "../../transforms/transform.ts";
import { checkUsage, rethrowAsUsageError, UsageError } from "../errors.ts";
import { readText } from "../input.ts";
import { lookUp } from "../options.ts";

/** Which tools a run has beside Python. */
export interface ToolFlags {
  /** A JSONC file of MCP servers. */
  mcp?: string;
  /** TypeScript files that are tools. */
  tool?: readonly string[];
  /** Style in which calls are written. */
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
  const { toolFile } = await import("../../tools/file/tool_file.ts");
  return await Promise.all(
    paths.map((path) => rethrowAsUsageError(async () => stack.use(await toolFile(path)))),
  );
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
  const { McpClients } = await import("../../tools/mcp/mcp_clients.ts");
  const { MCPToolTransform } = await import("../../transforms/mcp_tool_transform.ts");
  return await rethrowAsUsageError(async () => {
    const clients = stack.use(new McpClients({ servers }));
    await clients.tools(signal);
    return () => new MCPToolTransform({ ...calls, clients });
  }, { kinds: [TypeError, McpError] });
}

const MAX_BYTES = 1024 * 1024;

/**
 * Reads the servers of a JSONC file, written as `{ "mcpServers": { name: server } }` as other programs have it.
 *
 * Files that are named from where it lies are found there, and that is where the servers are started.
 *
 * @throws {UsageError} when it cannot be read, or holds no servers.
 */
export async function readMcpFile(path: string): Promise<Record<string, McpServer>> {
  const text = await readText(path, { maxBytes: MAX_BYTES });
  const servers = serversOf(await parseJsonc(text, path));
  if (servers === undefined) {
    throw new UsageError(`Cannot read '${path}' as it must have an object 'mcpServers': it has none`);
  }
  const folder = dirname(resolve(path));
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, placed(server, folder)]));
}

async function parseJsonc(text: string, path: string): Promise<unknown> {
  return await rethrowAsUsageError(() => parse(text), { prefix: `Cannot read '${path}' as it must be JSON` });
}

function serversOf(value: unknown): Record<string, unknown> | undefined {
  const servers = isObject(value) ? value.mcpServers : undefined;
  return isObject(servers) && Object.values(servers).every(isObject) ? servers : undefined;
}

/** What else is wrong with a server, its keys and its kind, is told by those who start it. */
function placed(server: unknown, folder: string): McpServer {
  const { module, cwd, ...rest } = server as Record<string, unknown>;
  if ("url" in rest) return rest as unknown as McpServer;
  const place = { ...rest, cwd: resolve(folder, typeof cwd === "string" ? cwd : ".") };
  if (typeof module !== "string") return place as unknown as McpServer;
  const isFile = module.startsWith(".") || module.startsWith("/");
  return { ...place, module: isFile ? pathToFileURL(resolve(folder, module)).href : module };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
