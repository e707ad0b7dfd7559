import type { Tool as McpTool } from "@modelcontextprotocol/client";
import { errorMessage, McpError, ToolError } from "../../errors.ts";
import type { Layer } from "../../sandbox/layer.ts";
import { unlessAborted } from "../../sandbox/unless_aborted.ts";
import { isUnknownSession, McpConnection } from "./mcp_connection.ts";
import type { McpServer } from "./mcp_server.ts";
import { mcpText } from "./mcp_text.ts";
import { mcpTransport } from "./mcp_transport.ts";

/** What a client is made of. */
export interface McpClientOptions {
  readonly name: string;
  readonly server: McpServer;
  readonly startTimeoutMs: number;
  /** The layers of the operating system that work on this host. */
  readonly layers: () => Promise<ReadonlySet<Layer>>;
}

interface Call {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly signal: AbortSignal;
}

/**
 * One server, started when it is first needed and again when it has died: at most once for a call.
 *
 * A call during which the server dies is made again only where its tool says that this does no harm.
 */
export class McpClient implements AsyncDisposable {
  readonly #options: McpClientOptions;
  readonly #stop = new AbortController();
  #connection: McpConnection | undefined;
  #starting: Promise<McpConnection> | undefined;
  #closing: Promise<unknown> = Promise.resolve();

  constructor(options: McpClientOptions) {
    this.#options = options;
  }

  /**
   * The tools of the server, started where it is not running.
   *
   * @throws {McpError} when it cannot be started.
   */
  async tools(signal?: AbortSignal): Promise<readonly McpTool[]> {
    const { connection } = await this.#connected(signal);
    return [...connection.tools.values()];
  }

  /**
   * Calls a tool and gives its answer as text.
   *
   * @throws {ToolError} when the tool failed, with its words.
   * @throws {McpError} when the server cannot be started, or died.
   */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    return await this.#call({ tool, args, signal }, true);
  }

  async #call(call: Call, mayRepeat: boolean): Promise<string> {
    const { tool, signal } = call;
    const { connection, started } = await this.#connected(signal).catch((cause) => {
      signal.throwIfAborted();
      throw new McpError(`MCP server '${this.#options.name}' not connected`, { cause });
    });
    try {
      return await callOnce(connection, call);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ToolError) throw error;
      const lost = connection.isLoss(error);
      const harmless = isUnknownSession(error) || isHarmless(connection.tools.get(tool));
      if (lost && harmless && mayRepeat && !started) return await this.#call(call, false);
      const reason = lost ? connection.loss : errorMessage(error);
      throw new McpError(`MCP tool call failed: ${reason}`, { cause: error });
    }
  }

  /** Ends the server and waits until it is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new McpError(`MCP server '${this.#options.name}' not connected: it is disposed`));
    await this.#starting?.catch(() => {}); // one that did not start is gone
    await this.#connection?.[Symbol.asyncDispose]();
    await this.#closing;
  }

  /**
   * The connection, a new one in place of one that is lost; `started` when this is what made it. Who comes while it
   * is being made waits for the same one, and shares its failure.
   */
  async #connected(
    signal: AbortSignal | undefined,
  ): Promise<{ connection: McpConnection; started: boolean }> {
    this.#stop.signal.throwIfAborted();
    const known = this.#connection;
    if (known?.alive) return { connection: known, started: false };
    const started = this.#starting === undefined;
    this.#starting ??= this.#start(known);
    this.#starting.catch(() => {}); // whoever needs it hears of it
    return { connection: await unlessAborted(this.#starting, signal), started };
  }

  async #start(lost: McpConnection | undefined): Promise<McpConnection> {
    if (lost) this.#closing = Promise.all([this.#closing, lost[Symbol.asyncDispose]().catch(() => {})]);
    try {
      return this.#connection = await this.#open();
    } finally {
      this.#starting = undefined;
    }
  }

  async #open(): Promise<McpConnection> {
    const { name, server, startTimeoutMs } = this.#options;
    const { signal } = this.#stop;
    try {
      const transport = await mcpTransport(server, { layers: await this.#options.layers(), signal });
      return await McpConnection.open(name, transport, { startTimeoutMs, signal });
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof McpError) throw cause;
      throw new McpError(`MCP server '${name}' not connected: ${errorMessage(cause)}`, { cause });
    }
  }
}

async function callOnce(connection: McpConnection, { tool, args, signal }: Call): Promise<string> {
  const result = await connection.call(tool, args, signal);
  const text = mcpText(result);
  if (result.isError) throw new ToolError(text);
  return text;
}

function isHarmless(tool: McpTool | undefined): boolean {
  return tool?.annotations?.readOnlyHint === true || tool?.annotations?.idempotentHint === true;
}
