import { requireKnownOptions } from "../../options.ts";
import { requireTimeout } from "../../async/abort.ts";
import { McpError } from "../../errors.ts";
import type { Layer } from "../../sandbox/profile/schema.ts";
import { detectLayers, type LayerReport } from "../../sandbox/process/layers.ts";
import { escapeControls } from "../../terminal_text.ts";
import { parseExact } from "../../numbers/exact_numbers.ts";
import type { Tool } from "../tool.ts";
// @ts-types="./mcp_client.d.ts"
import { McpClient } from "./mcp_client.ts";
import { checkServers, type McpServer } from "./mcp_server.ts";

/** Options of {@linkcode McpClients}. */
export interface McpClientsOptions {
  /** Servers by name. The name is the prefix of a tool: `server.tool`. */
  servers: Readonly<Record<string, McpServer>>;
  /**
   * Maximum time for a server to start and to list tools, in milliseconds.
   * @default 30_000
   */
  startTimeoutMs?: number | undefined;
  /**
   * Result of {@linkcode detectLayers} on this host, if the caller has the result already.
   * @default the layers are detected
   */
  detected?: readonly LayerReport[] | undefined;
  /**
   * Called with a warning that names the tools of a server that no model can call, each with the reason: a name with
   * white space, a missing schema. The other tools of the server are offered.
   * @default the warning is written to stderr
   */
  onWarning?: ((warning: string) => void) | undefined;
}

const START_TIMEOUT_MS = 30_000;

/**
 * Clients of several MCP servers. Each server starts at first use and is shared by all users of these
 * clients: 64 episodes need a single server, not 64. State that a server keeps is shared, too. Make separate
 * clients for an episode that needs a separate server.
 *
 * @example One server for many envs
 * ```ts ignore
 * import { MCPToolTransform } from "@paddock/paddock";
 * import { McpClients } from "@paddock/paddock/tools";
 *
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
   * Checks the options. Servers start later, at first use.
   *
   * @throws {TypeError} when the definition of a server is invalid.
   * @throws {RangeError} when the time limit is out of range.
   */
  constructor(options: McpClientsOptions) {
    requireKnownOptions("create McpClients", options, MCP_CLIENTS_OPTIONS);
    const { servers, startTimeoutMs = START_TIMEOUT_MS, onWarning = writeWarning } = options;
    checkServers(servers);
    requireTimeout(startTimeoutMs, "start MCP servers");
    let layers: Promise<ReadonlySet<Layer>> | undefined;
    const lazyLayers = () => layers ??= workingLayers(options.detected);
    this.#clients = new Map(
      Object.entries(servers).map(([name, server]) => [
        name,
        new McpClient({ name, server, startTimeoutMs, layers: lazyLayers, onWarning }),
      ]),
    );
  }

  /**
   * Lists the tools of all servers under `server.tool`. Servers that do not run are started in parallel. Tools that no
   * model can call are left out; `onWarning` names them.
   *
   * @throws {McpError} when a server cannot be started.
   */
  async tools(signal?: AbortSignal): Promise<Tool[]> {
    const lists = await Promise.all(
      [...this.#clients].map(async ([name, client]) =>
        (await client.tools(signal)).map((tool) => mcpTool(client, { server: name, tool: tool.name }, tool))
      ),
    );
    return lists.flat();
  }

  /**
   * Returns the tool for a name that a model wrote: `server.tool`, split at the first dot that follows a
   * known server name, else a tool of the first server. The tool may not exist; the server then reports
   * the mistake.
   */
  find(name: string): Tool {
    const [server, tool] = this.#split(name);
    const client = this.#clients.get(server);
    return mcpTool(client, { server, tool }, {});
  }

  /** Ends all servers and waits until they have exited. */
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

/**
 * Makes a tool that calls a server. The server checks the arguments: the server's schema is untrusted,
 * and patterns of the schema must not run here. Calls from code are also checked in the sandbox, without patterns.
 */
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
    checksInSandbox: true,
    run: (args, { signal, argumentsText = "" }) => {
      if (client === undefined) throw new McpError(`MCP server '${server}' not connected`);
      return client.call(tool, parseExact(argumentsText) as typeof args ?? args, signal);
    },
  };
}

async function workingLayers(detected: readonly LayerReport[] | undefined): Promise<ReadonlySet<Layer>> {
  const reports = detected ?? await detectLayers();
  return new Set(reports.filter(({ works }) => works).map(({ layer }) => layer));
}

function writeWarning(warning: string): void {
  // deno-lint-ignore no-console -- a program that sets no `onWarning` must see the warning
  console.warn(escapeControls(warning));
}

/** Names of the options. */
export const MCP_CLIENTS_OPTIONS: Readonly<Record<keyof McpClientsOptions, true>> = {
  servers: true,
  startTimeoutMs: true,
  detected: true,
  onWarning: true,
};
