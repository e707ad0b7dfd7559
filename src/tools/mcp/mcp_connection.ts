import {
  Client,
  type RequestOptions,
  type ResultSchema,
  SdkError,
  SdkHttpError,
  type Tool as McpTool,
  type Transport,
} from "./sdk.ts";
import { Deadline, MAX_TIMER_MS } from "../../async/abort.ts";
import { errorMessage, McpError } from "../../errors.ts";
import { ChildTransport } from "./child_transport.ts";
import { type CallResult, readCallResult } from "./call_result.ts";
import { HttpTransport } from "./http_transport.ts";
import { isJsonObject } from "../../json.ts";
import { listTools, type ToolList } from "./tool_list.ts";

/** Options of {@linkcode McpConnection.open}. */
export interface McpConnectionOptions {
  /** Maximum time for the handshake and the list of tools together, in milliseconds. */
  startTimeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** The caller limits the time of a call, so the limit of the MCP library is set to the maximum. */
const NO_TIMEOUT_MS = MAX_TIMER_MS;
/**
 * Results are read here and not by the MCP library, which refuses a whole list for a single tool, and a result of a
 * tool whose effect has happened.
 */
const ANY_RESULT: ResultSchema<Readonly<Record<string, unknown>>> = {
  "~standard": {
    version: 1,
    vendor: "paddock",
    validate: (value) => ({ value: isJsonObject(value) ? value : {} }),
  },
};

/**
 * A connection to a server after the handshake, with the server's tools. The connection is alive until the server exits
 * or the connection is closed.
 */
export class McpConnection implements AsyncDisposable {
  readonly tools: ReadonlyMap<string, McpTool>;
  /** Tools of the server that are not in `tools`, each with the reason. */
  readonly leftOut: readonly string[];
  readonly #client: Client;
  readonly #transport: Transport;
  #alive = true;

  private constructor(client: Client, transport: Transport, { tools, leftOut }: ToolList) {
    this.#client = client;
    this.#transport = transport;
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.leftOut = leftOut;
  }

  /**
   * Connects to a server and requests all pages of the server's tool list. Closes the transport after a failure.
   *
   * @throws {McpError} when the server does not respond in time, exits, or sends an invalid response.
   */
  static async open(
    name: string,
    transport: Transport,
    options: McpConnectionOptions,
  ): Promise<McpConnection> {
    const { startTimeoutMs, signal } = options;
    const client = new Client({ name: "paddock", version: "1" });
    let closed = false;
    client.onclose = () => closed = true;
    client.onerror = () => {}; // the transport counts invalid messages itself
    const timeoutError = new Error(`the server did not answer within ${startTimeoutMs} ms`);
    using deadline = new Deadline(startTimeoutMs, { signal, reason: () => timeoutError });
    const limits = { timeout: NO_TIMEOUT_MS, signal: deadline.signal };
    try {
      await client.connect(transport, limits);
      const list = await listToolsOf(client, limits);
      if (closed) throw new Error("it ended right after the handshake");
      const connection = new McpConnection(client, transport, list);
      client.onclose = () => connection.#alive = false;
      return connection;
    } catch (cause) {
      await client.close().catch(() => {}); // the first failure is reported
      await transport.close().catch(() => {});
      signal?.throwIfAborted();
      const reason = failureText(deadline.isExpired ? timeoutError : cause, transport);
      throw new McpError(`MCP server '${name}' not connected: ${reason}`, { cause });
    }
  }

  /** True if the server accepts calls. */
  get alive(): boolean {
    return this.#alive;
  }

  /** Reason why the connection was lost, for the error of the call that failed with the loss. */
  get lossReason(): string {
    const isOurs = this.#transport instanceof HttpTransport || this.#transport instanceof ChildTransport;
    return (isOurs && this.#transport.exceededLimit?.message) || "the server ended before it answered";
  }

  /** Calls a tool. The result says whether the tool succeeded. Rejects when there is no result. */
  async call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<CallResult> {
    const request = {
      method: "tools/call",
      params: { name: tool, arguments: { ...args } },
    };
    return readCallResult(
      await this.#client.request(request, ANY_RESULT, { timeout: NO_TIMEOUT_MS, signal }),
    );
  }

  /** Returns true if a server over HTTP does not know the session any more. Such a server has not run the call. */
  isUnknownSession(error: unknown): boolean {
    return error instanceof SdkHttpError && error.status === 404;
  }

  /** Returns true if an error means that the connection is lost, and marks the connection as lost. */
  checkLoss(error: unknown): boolean {
    if (
      this.isUnknownSession(error) || (error instanceof SdkError && LOSSES.has(error.code)) ||
      isNetworkError(error)
    ) {
      this.#alive = false;
    }
    return !this.#alive;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#alive = false;
    await this.#client.close();
  }
}

/** Lists the tools of a server; a server that declares none is not asked. */
async function listToolsOf(client: Client, limits: RequestOptions): Promise<ToolList> {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], leftOut: [] };
  return await listTools(async (cursor) => {
    const params = cursor === undefined ? {} : { params: { cursor } };
    return await client.request({ method: "tools/list", ...params }, ANY_RESULT, limits);
  });
}

const LOSSES: ReadonlySet<string> = new Set(["NOT_CONNECTED", "CONNECTION_CLOSED", "SEND_FAILED"]);

/** Returns true for the error that `fetch` throws when no server responds. */
function isNetworkError(error: unknown): boolean {
  return error instanceof TypeError;
}

function failureText(cause: unknown, transport: Transport): string {
  const reason = errorMessage(cause);
  const hasComplaint = transport instanceof ChildTransport || transport instanceof HttpTransport;
  const complaint = hasComplaint ? transport.diagnostics : "";
  return complaint === "" ? reason : `${reason}: ${complaint}`;
}
