import { delay } from "@std/async";
import { Hono } from "hono";
import * as z from "zod";
import { PADDOCK_VERSION } from "../../../version.ts";
import type { Account, Budget, BudgetLease, Budgets } from "../../admission/budget.ts";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError, toServerError } from "../../http/http_errors.ts";
import {
  MAX_SOCKET_BYTES,
  MAX_SOCKET_WAITING,
  MAX_SOCKETS,
  MEMORY_PER_BYTE,
  SOCKET_READ_MS,
} from "../../limits.ts";
import type { Peer } from "../peer.ts";
import { detailResponse, readDetailBody } from "../detail_error.ts";
import { type Metadata, stepRequest } from "./contract.ts";
import { type OpenEnvKind, resetData } from "./env_kind.ts";
import { openEnvOperations } from "./operations.ts";
import { type DrivenEnv, envErrorMessage, handleMcpText, handleMessage } from "./messages.ts";

/**
 * Serves OpenEnv with a single kind of env. Over HTTP, each request has a separate env; on the WebSocket `/ws`, each
 * connection has an env.
 */
export function openEnv<Action>(kind: OpenEnvKind<Action>, budgets: Budgets): Peer {
  const app = new Hono<AppEnv>();
  const connections = new EnvConnections(budgets);
  const newEnv = (c: AppContext) => kind.open({ owner: c.get("owner"), signal: c.get("signal") });
  const stepSchema = stepRequest(kind);
  app.get("/health", (c) => c.json({ status: "healthy" }));
  app.get("/metadata", (c) => c.json(metadata(kind)));
  app.get("/schema", (c) => {
    const { action, observation, state } = kind;
    return c.json({ action: schema(action), observation: schema(observation), state: schema(state) });
  });
  app.get("/state", async (c) => c.json(await newEnv(c).state()));
  app.post("/reset", async (c) => {
    const hasBody = (await c.req.bytes()).length > 0;
    const request = hasBody ? await readDetailBody(c, resetData) : {};
    await using env = newEnv(c);
    return c.json(await env.reset(request));
  });
  app.post("/step", async (c) => {
    const { action, timeout_s } = await readDetailBody(c, stepSchema);
    await using env = newEnv(c);
    return c.json(await env.step(action, timeout_s ?? undefined));
  });
  app.post("/mcp", async (c) => c.json(handleMcpText(await c.req.text())));
  app.get("/ws", (c) => {
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") return c.text("Upgrade Required", 426);
    if (c.env?.upgrade === undefined) {
      throw new ServerError("malformed", "The request is no WebSocket handshake");
    }
    const socket = c.env.upgrade(c.get("memory"));
    connections.serve(socket, { env: newEnv(c), action: kind.action }, c.get("owner"));
    return switchingProtocols();
  });
  return {
    name: "openenv",
    description: "Routes of OpenEnv's clients",
    routes: [{ routes: app, toErrorResponse: detailResponse }],
    operations: openEnvOperations(kind),
  };
}

/** Returns the response after a handshake, which is sent already. A `Response` can be given no status below 200. */
function switchingProtocols(): Response {
  return Object.defineProperty(new Response(), "status", { value: 101 });
}

function metadata<Action>({ name, description }: OpenEnvKind<Action>): Metadata {
  return {
    name,
    description,
    readme_content: null,
    version: PADDOCK_VERSION,
    author: null,
    documentation_url: null,
  };
}

function schema(type: z.ZodType): object {
  return z.toJSONSchema(type, { io: "input" });
}

const NORMAL = 1000;
const POLICY_VIOLATION = 1008;
/** Bytes that a client may leave unread while the client's next message is handled. */
const SMALL_BYTES = 64 * 1024;
const POLL_MS = 20;
/**
 * Characters of a message without memory after which the connection is closed: Deno would read further messages as
 * fast as they come, and each message is garbage until the collection.
 */
const MAX_REFUSED_CHARACTERS = 1024 * 1024;

/** WebSocket connections of a server, each with a separate env. */
export class EnvConnections {
  readonly #count: Budget;
  readonly #waiting: Budget;

  constructor(budgets: Budgets) {
    this.#count = budgets.counting({ total: MAX_SOCKETS, unit: "connections", advice: "close one" });
    this.#waiting = budgets.waiting;
  }

  /** Handles the messages of a connection in order, and disposes the env at the connection's end. */
  serve<Action>(socket: WebSocket, driven: DrivenEnv<Action>, owner: string): void {
    const slot = this.#takeSlot(socket, owner);
    if (slot === undefined) return;
    const memory = this.#waiting.account(owner);
    let last = Promise.resolve();
    let waiting = 0;
    socket.onmessage = ({ data }) => {
      const fits = typeof data === "string" && data.length <= MAX_SOCKET_BYTES;
      if (!fits || waiting >= MAX_SOCKET_WAITING) {
        return socket.close(POLICY_VIOLATION, "too many or too large messages");
      }
      waiting++;
      const incoming = takeMessage(driven, data, memory);
      if (incoming.refusal !== undefined && data.length > MAX_REFUSED_CHARACTERS) {
        socket.send(incoming.refusal);
        return socket.close(POLICY_VIOLATION, "no memory for large messages");
      }
      last = last.then(async () => {
        using _memory = incoming.lease;
        await respond(socket, incoming);
        waiting--;
      });
    };
    socket.onerror = () => {}; // onclose follows and releases the connection
    socket.onclose = () => {
      slot[Symbol.dispose]();
      driven.env[Symbol.asyncDispose]();
    };
  }

  #takeSlot(socket: WebSocket, owner: string): BudgetLease | undefined {
    try {
      return this.#count.take(owner, 1);
    } catch (error) {
      const { message } = toServerError(error);
      const counts = { active_sessions: this.#count.used(owner), max_sessions: this.#count.used(owner) };
      socket.send(envErrorMessage("CAPACITY_REACHED", message, counts));
      socket.close(NORMAL);
      return undefined;
    }
  }
}

/** A waiting message, and the memory of the message. */
interface Incoming {
  readonly lease: BudgetLease;
  /** Response if there was no memory for the message. */
  readonly refusal?: string;
  /** Returns the response; `undefined` to close the connection. */
  readonly handle: () => Promise<string | undefined>;
}

/** Takes memory for a message. Without memory, the message is dropped and the response is an error. */
function takeMessage<Action>(driven: DrivenEnv<Action>, message: string, memory: Account): Incoming {
  try {
    const lease = memory.take(MEMORY_PER_BYTE * message.length);
    return { lease, handle: () => handleMessage(driven, message) };
  } catch (error) {
    return refusedMessage(toServerError(error), memory);
  }
}

/** A separate function: a closure beside the message would keep the message. */
function refusedMessage({ message }: ServerError, memory: Account): Incoming {
  const refusal = envErrorMessage("CAPACITY_REACHED", message);
  return { lease: memory.take(0), refusal, handle: () => Promise.resolve(refusal) };
}

/** Responds to a message and waits until the client has read the response. */
async function respond(socket: WebSocket, { lease, handle }: Incoming): Promise<void> {
  if (socket.readyState !== WebSocket.OPEN) return;
  const response = await handle();
  if (socket.readyState !== WebSocket.OPEN) return;
  if (response === undefined) return socket.close(NORMAL);
  try {
    lease.resize(response.length);
    socket.send(response);
  } catch (error) {
    socket.send(envErrorMessage("CAPACITY_REACHED", toServerError(error).message));
  }
  await waitUntilRead(socket);
}

/** Waits until a client has read all but a little. Closes the socket if that takes too long. */
async function waitUntilRead(socket: WebSocket): Promise<void> {
  const isUnread = () => socket.readyState === WebSocket.OPEN && socket.bufferedAmount > SMALL_BYTES;
  for (const start = performance.now(); isUnread(); await delay(POLL_MS)) {
    if (performance.now() - start > SOCKET_READ_MS) {
      return socket.close(POLICY_VIOLATION, "the client reads too slowly");
    }
  }
}
