import {
  type CallToolResult,
  Client,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  SdkError,
  SdkHttpError,
  type Tool as McpTool,
  type Transport,
} from "@modelcontextprotocol/client";
import { errorMessage, McpError } from "../../errors.ts";
import { LONGEST_WAIT_MS } from "../../policy/longest_wait.ts";
import { ChildTransport } from "./child_transport.ts";
import { HttpTransport } from "./http_transport.ts";

/** How a connection is made. */
export interface McpConnectionOptions {
  /** Milliseconds that the handshake and the list of tools may take together. */
  startTimeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Whoever calls sets the limit of time; the library has one of its own, which is to stay out of the way. */
const NO_TIMEOUT_MS = LONGEST_WAIT_MS;
/** Results are shown to a model as they are: to check them would be to compile schemas of strangers. */
const BELIEVE: jsonSchemaValidator = {
  getValidator: <T>(): JsonSchemaValidator<T> => (data) => ({
    valid: true,
    data: data as T,
    errorMessage: undefined,
  }),
};

/** A server with which hands have been shaken, and its tools. It is alive until it ends or is closed. */
export class McpConnection implements AsyncDisposable {
  readonly tools: ReadonlyMap<string, McpTool>;
  readonly #client: Client;
  readonly #transport: Transport;
  #alive = true;

  private constructor(client: Client, transport: Transport, tools: readonly McpTool[]) {
    this.#client = client;
    this.#transport = transport;
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /**
   * Shakes hands with a server and asks for all pages of its tools. It is closed when that fails.
   *
   * @throws {McpError} when it does not answer in time, ends, or says what is no answer.
   */
  static async open(
    name: string,
    transport: Transport,
    options: McpConnectionOptions,
  ): Promise<McpConnection> {
    const { startTimeoutMs, signal } = options;
    const client = new Client({ name: "paddock", version: "1" }, { jsonSchemaValidator: BELIEVE });
    let closed = false;
    client.onclose = () => closed = true;
    client.onerror = () => {}; // what is no message was counted where it was read
    const slow = new Error(`it did not answer within ${startTimeoutMs} ms`);
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(slow), startTimeoutMs);
    const either = signal ? AbortSignal.any([stop.signal, signal]) : stop.signal;
    const limits = { timeout: NO_TIMEOUT_MS, signal: either };
    try {
      await client.connect(transport, limits);
      const { tools } = await client.listTools(undefined, limits);
      if (closed) throw new Error("it ended behind its handshake");
      const connection = new McpConnection(client, transport, tools);
      client.onclose = () => connection.#alive = false;
      return connection;
    } catch (cause) {
      await client.close().catch(() => {}); // the first failure is the one to tell
      await transport.close().catch(() => {});
      signal?.throwIfAborted();
      const reason = failureText(stop.signal.aborted ? slow : cause, transport);
      throw new McpError(`MCP server '${name}' not connected: ${reason}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether the server can be asked. */
  get alive(): boolean {
    return this.#alive;
  }

  /** Why there is no connection any more, to be told behind a call that did not survive it. */
  get loss(): string {
    const complaint = this.#transport instanceof HttpTransport ? this.#transport.complaint : "";
    return complaint || "the server ended before it answered";
  }

  /** Calls a tool; whether it went well is in the answer. Rejects when there is none. */
  async call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    return await this.#client.callTool({ name: tool, arguments: { ...args } }, {
      timeout: NO_TIMEOUT_MS,
      signal,
    });
  }

  /** Whether a failed call means that there is no connection any more; it is then not alive. */
  isLoss(error: unknown): boolean {
    if (
      isUnknownSession(error) || (error instanceof SdkError && LOSSES.has(error.code)) || isNetwork(error)
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

const LOSSES: ReadonlySet<string> = new Set(["NOT_CONNECTED", "CONNECTION_CLOSED", "SEND_FAILED"]);

/** Whether a server over HTTP has forgotten the session: it has then not run the call either. */
export function isUnknownSession(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}

/** What `fetch` throws when nobody answers. */
function isNetwork(error: unknown): boolean {
  return error instanceof TypeError;
}

function failureText(cause: unknown, transport: Transport): string {
  const reason = errorMessage(cause);
  const hasComplaint = transport instanceof ChildTransport || transport instanceof HttpTransport;
  const complaint = hasComplaint ? transport.complaint : "";
  return complaint === "" ? reason : `${reason}: ${complaint}`;
}
