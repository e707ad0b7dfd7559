import { McpError } from "../../errors.ts";
import type { Layer } from "../../sandbox/layer.ts";
import { detectLayers, type LayerReport } from "../../sandbox/layers.ts";
import type { Tool } from "../tool.ts";
import { requireTimeout } from "../within_time.ts";
import { McpClient } from "./mcp_client.ts";
import { type McpServer, requireServers } from "./mcp_server.ts";

/** What {@linkcode McpClients} need. */
export interface McpClientsOptions {
  /** The servers by the names that stand before the dot: `server.tool`. */
  servers: Readonly<Record<string, McpServer>>;
  /** Milliseconds that a server may take to start and to list its tools; 30,000 unless given. */
  startTimeoutMs?: number | undefined;
  /** What {@linkcode detectLayers} found on this host, where the caller has asked already. */
  detected?: readonly LayerReport[] | undefined;
}

const START_TIMEOUT_MS = 30_000;

/**
 * Servers of the Model Context Protocol, each started when it is first needed, and once for all who share these
 * clients: 64 episodes need one server, not 64. What a server keeps is then shared as well; an episode that must
 * have a server to itself needs clients of its own.
 *
 * @example One server for many envs
 * ```ts ignore
 * await using clients = new McpClients({
 *   servers: {
 *     files: {
 *       module: "npm:@modelcontextprotocol/server-filesystem@2026.8.31",
 *       args: ["/srv/data"],
 *       permissions: { read: ["/srv/data"], env: true },
 *     },
 *   },
 * });
 * const transforms = Array.from({ length: 64 }, () => new MCPToolTransform({ clients }));
 * ```
 */
export class McpClients implements AsyncDisposable {
  readonly #clients: ReadonlyMap<string, McpClient>;

  /**
   * Starts nothing yet.
   *
   * @throws {TypeError} when a server is not written as one.
   * @throws {RangeError} when the time limit is none.
   */
  constructor(options: McpClientsOptions) {
    const { servers, startTimeoutMs = START_TIMEOUT_MS } = options;
    requireServers(servers);
    requireTimeout(startTimeoutMs, "start MCP servers");
    let layers: Promise<ReadonlySet<Layer>> | undefined;
    const lazyLayers = () => layers ??= workingLayers(options.detected);
    this.#clients = new Map(
      Object.entries(servers).map(([name, server]) => [
        name,
        new McpClient({ name, server, startTimeoutMs, layers: lazyLayers }),
      ]),
    );
  }

  /**
   * The tools of all servers, under `server.tool`; servers that do not run are started, all at once.
   *
   * @throws {McpError} when a server cannot be started.
   */
  async tools(signal?: AbortSignal): Promise<Tool[]> {
    const lists = await Promise.all(
      [...this.#clients].map(async ([name, client]) =>
        (await client.tools(signal)).map((tool) => mcpTool(client, { server: name, tool: tool.name }, tool))
      ),
    );
    return lists.flat().filter(({ name }) => /^[^\s<>"]+$/.test(name));
  }

  /**
   * The tool that a model means: `server.tool`, cut at the first dot behind the name of a server, or else a tool of
   * the first server. It may be one that its server does not have; the server will say so.
   */
  find(name: string): Tool {
    const [server, tool] = this.#split(name);
    const client = this.#clients.get(server);
    return mcpTool(client, { server, tool }, {});
  }

  /** Ends all servers and waits until they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client[Symbol.asyncDispose]()));
  }

  #split(name: string): [server: string, tool: string] {
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      if (this.#clients.has(name.slice(0, dot))) return [name.slice(0, dot), name.slice(dot + 1)];
    }
    const dot = name.indexOf(".");
    if (dot > 0) return [name.slice(0, dot), name.slice(dot + 1)];
    const [first = ""] = this.#clients.keys();
    return [first, name];
  }
}

/** A server checks what its tools are given: its schema is a stranger's, whose patterns are not to run here. */
function mcpTool(
  client: McpClient | undefined,
  { server, tool }: { server: string; tool: string },
  { description = "", inputSchema = { type: "object" } }: {
    description?: string | undefined;
    inputSchema?: Readonly<Record<string, unknown>> | undefined;
  },
): Tool {
  return {
    name: `${server}.${tool}`,
    description,
    parameters: inputSchema,
    checksItself: true,
    run: (args, { signal }) => {
      if (client === undefined) throw new McpError(`MCP server '${server}' not connected`);
      return client.call(tool, args, signal);
    },
  };
}

async function workingLayers(detected: readonly LayerReport[] | undefined): Promise<ReadonlySet<Layer>> {
  const reports = detected ?? await detectLayers();
  return new Set(reports.filter(({ works }) => works).map(({ layer }) => layer));
}
