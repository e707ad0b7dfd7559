import type { Tool as McpTool, Transport } from "./sdk.ts";
import { resolve } from "node:path";
import { abortable } from "../../async/abort.ts";
import { errorMessage, McpError, ToolError } from "../../errors.ts";
import { setprivPrefix } from "../../sandbox/process/namespaces.ts";
import {
  type DenoCommand,
  denoCommand,
  fetchModules,
  requireOwnModules,
} from "../../sandbox/process/deno_program.ts";
import type { Layer } from "../../sandbox/profile/schema.ts";
import type { McpConnection } from "./mcp_connection.ts";
import { MessageMeter } from "./message_limits.ts";
import type { McpCommand, McpModule, McpServer } from "./mcp_server.ts";

/** Options of an {@linkcode McpClient}. */
export interface McpClientOptions {
  readonly name: string;
  readonly server: McpServer;
  readonly startTimeoutMs: number;
  /** Isolation layers of the operating system that work on this host. */
  readonly layers: () => Promise<ReadonlySet<Layer>>;
  readonly onWarning: (warning: string) => void;
}

/** Maximum number of tools that a warning names. */
const MAX_NAMED = 20;

interface Call {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly signal: AbortSignal;
}

/**
 * A client of a server. The client starts the server at first use, and restarts the server after a crash, at most
 * once for each call.
 *
 * A call during which the server dies is repeated only if the server declares the tool read-only or
 * idempotent.
 */
export class McpClient implements AsyncDisposable {
  readonly #options: McpClientOptions;
  readonly #stop = new AbortController();
  #connection: McpConnection | undefined;
  #starting: Promise<McpConnection> | undefined;
  #closing: Promise<unknown> = Promise.resolve();
  /** The last warning; a server that restarts is reported once. */
  #warning = "";

  constructor(options: McpClientOptions) {
    this.#options = options;
  }

  /**
   * Lists the tools of the server. Starts a server that is not running.
   *
   * @throws {McpError} when the server cannot be started.
   */
  async tools(signal?: AbortSignal): Promise<readonly McpTool[]> {
    const { connection } = await this.#connect(signal);
    return [...connection.tools.values()];
  }

  /**
   * Calls a tool and returns its result as text.
   *
   * @throws {ToolError} with the tool's message when the tool failed.
   * @throws {McpError} when the server cannot be started or dies.
   */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    return await this.#call({ tool, args, signal }, true);
  }

  async #call(call: Call, mayRepeat: boolean): Promise<string> {
    const { tool, signal } = call;
    const { connection, started } = await this.#connect(signal).catch((cause) => {
      signal.throwIfAborted();
      throw new McpError(`MCP server '${this.#options.name}' not connected`, { cause });
    });
    try {
      return await callOnce(connection, call);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ToolError) throw error;
      const lost = connection.checkLoss(error);
      const repeatable = connection.isUnknownSession(error) || isRepeatable(connection.tools.get(tool));
      if (lost && repeatable && mayRepeat && !started) return await this.#call(call, false);
      const reason = lost ? connection.lossReason : errorMessage(error);
      throw new McpError(`MCP tool call failed: ${reason}`, { cause: error });
    }
  }

  /** Ends the server and waits for the exit. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new McpError(`MCP server '${this.#options.name}' not connected: it is disposed`));
    await this.#starting?.catch(() => {}); // a failed start leaves nothing to end
    await this.#connection?.[Symbol.asyncDispose]();
    await this.#closing;
  }

  /**
   * Returns the connection, and makes a new connection after a loss; `started` is true for the caller that caused
   * the start. Callers that arrive during a start wait for the start and share a failure.
   */
  async #connect(
    signal: AbortSignal | undefined,
  ): Promise<{ connection: McpConnection; started: boolean }> {
    this.#stop.signal.throwIfAborted();
    const known = this.#connection;
    if (known?.alive) return { connection: known, started: false };
    const started = this.#starting === undefined;
    this.#starting ??= this.#start(known);
    this.#starting.catch(() => {}); // the awaiting callers handle the error
    return { connection: await abortable(this.#starting, signal), started };
  }

  async #start(lost: McpConnection | undefined): Promise<McpConnection> {
    if (lost) this.#closing = Promise.all([this.#closing, lost[Symbol.asyncDispose]().catch(() => {})]);
    try {
      this.#connection = await this.#open();
      this.#warn(this.#connection.leftOut);
      return this.#connection;
    } finally {
      this.#starting = undefined;
    }
  }

  #warn(leftOut: readonly string[]): void {
    if (leftOut.length === 0) return;
    const { name, onWarning } = this.#options;
    const more = leftOut.length > MAX_NAMED ? ` and ${leftOut.length - MAX_NAMED} more` : "";
    const warning =
      `Left out ${leftOut.length === 1 ? "a tool" : `${leftOut.length} tools`} of MCP server '${name}': ` +
      leftOut.slice(0, MAX_NAMED).join("; ") + more;
    if (warning !== this.#warning) onWarning(warning);
    this.#warning = warning;
  }

  async #open(): Promise<McpConnection> {
    const { name, server, startTimeoutMs } = this.#options;
    const { signal } = this.#stop;
    try {
      const transport = await createMcpTransport(server, { layers: await this.#options.layers(), signal });
      const { McpConnection } = await import("./mcp_connection.ts"); // the MCP library loads slowly
      return await McpConnection.open(name, transport, { startTimeoutMs, signal });
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof McpError) throw cause;
      throw new McpError(`MCP server '${name}' not connected: ${errorMessage(cause)}`, { cause });
    }
  }
}

async function callOnce(connection: McpConnection, { tool, args, signal }: Call): Promise<string> {
  const { text, isError } = await connection.call(tool, args, signal);
  if (isError) throw new ToolError(text);
  return text;
}

function isRepeatable(tool: McpTool | undefined): boolean {
  return tool?.annotations?.readOnlyHint === true || tool?.annotations?.idempotentHint === true;
}

/** Makes the transport to a server. Fetches the imports of a module first. */
async function createMcpTransport(
  server: McpServer,
  options: { layers: ReadonlySet<Layer>; signal?: AbortSignal | undefined },
): Promise<Transport> {
  const { layers, signal } = options;
  if ("url" in server) {
    const { HttpTransport } = await import("./http_transport.ts");
    return new HttpTransport(server, new MessageMeter());
  }
  const { ChildTransport } = await import("./child_transport.ts");
  if ("command" in server) return new ChildTransport(plainCommand(server, layers), server.cwd);
  const program = moduleProgram(server, layers);
  await fetchModules(program, signal);
  await requireOwnModules(program, signal);
  return new ChildTransport(await denoCommand(program), server.cwd);
}

/**
 * Returns the command of a program. The program keeps the privileges of the user but is killed when this
 * process ends.
 */
function plainCommand({ command, args = [], env = {} }: McpCommand, layers: ReadonlySet<Layer>): DenoCommand {
  const prefix = layers.has("parentDeath") ? setprivPrefix(new Set<Layer>(["parentDeath"])) : [];
  const [program = command, ...rest] = [...prefix, command, ...args];
  return { program, args: rest, env };
}

function moduleProgram({ module, ...rest }: McpModule, layers: ReadonlySet<Layer>) {
  const specifier = /^[a-z]+:/.test(module) ? module : resolve(rest.cwd ?? "", module);
  return { ...rest, module: specifier, layers };
}
