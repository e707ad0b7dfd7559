import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Next } from "hono";
import type { Budgets } from "../admission/budget.ts";
import type { CheckpointService } from "../checkpoints/checkpoint_service.ts";
import type { AppContext } from "../http/context.ts";
import {
  MAX_MCP_CLIENTS,
  MCP_HANDLE_SPARE_MS,
  MCP_IDLE_MS,
  MCP_SPARE_MS,
  REQUEST_LIMITS,
} from "../limits.ts";
import { streamBody } from "../http/response_stream.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { ClientSession } from "./client_session.ts";
import { createPythonServer } from "./python_server.ts";
import { isSessionName, SessionHandles } from "./session_handles.ts";
import { onlySession, type ToolSessions } from "./tool_sessions.ts";

const HEADER = "mcp-session-id";
/** Query parameter by which a client names a session for all calls. */
const SESSION = "session";
const WRONG_NAME = "Cannot use session as its name must be 1 to 64 letters, digits, '.', '_' and '-'";

/** Connected client. */
interface Connection {
  readonly owner: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly client: ClientSession;
  /** Place among the owner's clients. */
  readonly slot: Disposable;
  /** Time of the last request, by the monotonic clock. */
  usedAt: number;
}

/** Services of {@linkcode mcpRoute}. */
export interface McpRouteOptions {
  readonly sessions: SessionService;
  readonly budgets: Budgets;
  /** Makes the checkpoints of clients. Without this function, clients have no tools for checkpoints. */
  readonly checkpoints?: CheckpointService | undefined;
}

/**
 * Serves the Model Context Protocol over HTTP. Each client that sends `initialize` has its own session. In the
 * protocol of 2026-07-28, which has no connections, calls name a session by a handle. Requests of other protocols on
 * the same path go to the next route.
 */
export function mcpRoute(
  { sessions, budgets, checkpoints }: McpRouteOptions,
): (c: AppContext, next: Next) => Promise<Response | void> {
  const connections = new Map<string, Connection>();
  const count = budgets.counting({
    total: MAX_MCP_CLIENTS,
    unit: "MCP clients",
    advice: "disconnect one with DELETE /mcp",
    retryAfter: 60,
  });

  const { signal } = new AbortController(); // a session outlives the request that opens it
  const makeClient = (owner: string, spareMs: number) =>
    new ClientSession(() => sessions.create({ owner, signal, spareMs, endsWithServer: true }), checkpoints);
  const handles = new SessionHandles({
    open: (owner, isNamed) => makeClient(owner, isNamed ? MCP_SPARE_MS : MCP_HANDLE_SPARE_MS),
    count,
    hasCheckpoints: checkpoints !== undefined,
  });
  const toolSessions = new WeakMap<Request, ToolSessions>();
  const modern = createMcpHandler(({ requestInfo }) => {
    const sessions = requestInfo && toolSessions.get(requestInfo);
    if (sessions === undefined) throw new TypeError("Cannot serve MCP without the request");
    return createPythonServer(sessions);
  }, { legacy: "reject", maxRequestBodySize: REQUEST_LIMITS.bodyBytes });

  async function end(id: string): Promise<void> {
    const connection = connections.get(id);
    connections.delete(id);
    connection?.slot[Symbol.dispose]();
    await connection?.client[Symbol.asyncDispose]();
    await connection?.transport.close();
  }

  async function connect(owner: string): Promise<Pick<Connection, "transport" | "slot">> {
    for (const [id, { usedAt }] of connections) if (performance.now() - usedAt > MCP_IDLE_MS) await end(id);
    const slot = await handles.takeSlot(owner);
    const client = makeClient(owner, MCP_SPARE_MS);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized(id) {
        connections.set(id, { owner, transport, client, slot, usedAt: performance.now() });
      },
      onsessionclosed: end,
      maxRequestBodySize: REQUEST_LIMITS.bodyBytes,
    });
    await createPythonServer(onlySession(client)).connect(transport);
    return { transport, slot };
  }

  return async (c, next) => {
    if (await isForeign(c)) return await next();
    const owner = c.get("owner");
    const request = await toWebRequest(c);
    if (!await isLegacyRequest(request)) {
      const name = c.req.query(SESSION);
      if (name !== undefined && !isSessionName(name)) return rpcError(400, -32602, WRONG_NAME);
      toolSessions.set(request, handles.of(owner, name));
      return boundStream(await modern.fetch(request), c);
    }
    const id = c.req.header(HEADER);
    if (id !== undefined) {
      const connection = connections.get(id);
      // the client sends `initialize` again
      if (connection?.owner !== owner) return rpcError(404, -32001, "Session not found");
      connection.usedAt = performance.now();
      return boundStream(await connection.transport.handleRequest(request), c);
    }
    const { transport, slot } = await connect(owner);
    try {
      return boundStream(await transport.handleRequest(request), c);
    } finally {
      if (transport.sessionId === undefined) { // no `initialize` was sent
        slot[Symbol.dispose]();
        await transport.close();
      }
    }
  };
}

/** Returns the request with the body, which the server has read already. */
async function toWebRequest(c: AppContext): Promise<Request> {
  const { method, url, raw: { headers } } = c.req;
  const body = method === "POST" ? await c.req.arrayBuffer() : null;
  return new Request(url, { method, headers, body, signal: c.get("signal") });
}

/** Returns a response with counted unread events. The transport's own queue has no bound. */
function boundStream(response: Response, c: AppContext): Response {
  const { body: events, status, headers } = response;
  if (events === null || !headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const body = streamBody(async (body, signal) => {
    const texts = events.pipeThrough(new TextDecoderStream() as never, { signal });
    for await (const text of texts as ReadableStream<string>) body.send(text);
  }, { signal: c.get("signal"), memory: c.get("memory") });
  return new Response(body, { status, headers });
}

/**
 * True if a request is not of this protocol: the request accepts no events, has no header of the protocol and is no
 * `initialize`.
 */
async function isForeign(c: AppContext): Promise<boolean> {
  const { method } = c.req;
  const acceptsEvents = c.req.header("accept")?.includes("text/event-stream") ?? false;
  const isMcp = [HEADER, "mcp-protocol-version"].some((name) => c.req.header(name) !== undefined);
  if (method !== "POST" || acceptsEvents || isMcp) return false;
  const message = await c.req.json().catch(() => null);
  return message?.method !== "initialize";
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
