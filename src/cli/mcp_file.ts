import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "@std/jsonc";
import { errorMessage } from "../errors.ts";
import type { McpServer } from "../tools/mcp/mcp_server.ts";
import { readText } from "./read_text.ts";
import { UsageError } from "./usage_error.ts";

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
  const servers = serversOf(parsed(text, path));
  if (servers === undefined) {
    throw new UsageError(`Cannot read '${path}' as it must have an object 'mcpServers': it has none`);
  }
  const folder = dirname(resolve(path));
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, placed(server, folder)]));
}

function parsed(text: string, path: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new UsageError(`Cannot read '${path}' as it must be JSON: ${reason}`, { cause });
  }
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
