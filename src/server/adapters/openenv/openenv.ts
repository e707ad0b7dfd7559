import { Hono } from "hono";
import { z } from "zod";
import { PADDOCK_VERSION } from "../../../version.ts";
import { MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError } from "../../http/errors.ts";
import {
  MAX_SOCKET_CHARACTERS,
  MAX_SOCKET_UNREAD_BYTES,
  MAX_SOCKET_WAITING,
  MAX_SOCKETS,
} from "../../limits.ts";
import { detailResponse, readDetailBody } from "../detail_error.ts";
import { type OpenEnvKind, resetData } from "./env_kind.ts";
import { type DrivenEnv, envErrorMessage, handleMcpText, handleMessage } from "./messages.ts";

/**
 * Serves OpenEnv with one kind of env. Over HTTP, each request has its own env; on the WebSocket `/ws`, each
 * connection has one.
 */
export function openEnv<Action>(kind: OpenEnvKind<Action>): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  const connections = new Connections(MAX_SOCKETS);
  const newEnv = (c: AppContext) => kind.open({ owner: c.get("owner"), signal: c.get("signal") });
  const stepRequest = z.looseObject({
    action: kind.action,
    timeout_s: z.number().positive().max(MAX_TIMEOUT_SECONDS).nullish(),
    request_id: z.string().max(255).nullish(),
  });
  app.onError(detailResponse);
  app.get("/health", (c) => c.json({ status: "healthy" }));
  app.get("/metadata", (c) => c.json(metadata(kind)));
  app.get("/schema", (c) => {
    const { action, observation, state } = kind;
    return c.json({ action: schema(action), observation: schema(observation), state: schema(state) });
  });
  app.get("/state", (c) => c.json(newEnv(c).state()));
  app.post("/reset", async (c) => {
    const hasBody = (await c.req.raw.clone().arrayBuffer()).byteLength > 0;
    const request = hasBody ? await readDetailBody(c, resetData) : {};
    await using env = newEnv(c);
    return c.json(await env.reset(request));
  });
  app.post("/step", async (c) => {
    const { action, timeout_s } = await readDetailBody(c, stepRequest);
    await using env = newEnv(c);
    return c.json(await env.step(action, timeout_s ?? undefined));
  });
  app.post("/mcp", async (c) => c.json(handleMcpText(await c.req.text())));
  app.get("/ws", (c) => {
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") return c.text("Upgrade Required", 426);
    const { socket, response } = upgradeSocket(c.req.raw);
    connections.serve(socket, { env: newEnv(c), action: kind.action });
    return response;
  });
  return app;
}

/** @throws {ServerError} `malformed` if the request is not a WebSocket handshake. */
function upgradeSocket(request: Request): Deno.WebSocketUpgrade {
  try {
    return Deno.upgradeWebSocket(request);
  } catch (cause) {
    throw new ServerError("malformed", "The request is not a WebSocket handshake", { cause });
  }
}

function metadata<Action>({ name, description }: OpenEnvKind<Action>): object {
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

/** WebSocket connections of a server, each with its own env. */
export class Connections {
  readonly #limit: number;
  #open = 0;

  /** @param limit Maximum number of connections; further ones are refused. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Handles the messages of a connection in order, and disposes its env at its end. */
  serve<Action>(socket: WebSocket, driven: DrivenEnv<Action>): void {
    if (this.#open >= this.#limit) return refuse(socket, { active: this.#open, limit: this.#limit });
    this.#open++;
    let last = Promise.resolve();
    let waiting = 0;
    socket.onmessage = ({ data }) => {
      const fits = typeof data === "string" && data.length <= MAX_SOCKET_CHARACTERS;
      const isSlow = socket.bufferedAmount > MAX_SOCKET_UNREAD_BYTES;
      if (!fits || isSlow || waiting >= MAX_SOCKET_WAITING) {
        return socket.close(POLICY_VIOLATION, "too many or too large messages");
      }
      waiting++;
      last = last.then(async () => {
        if (socket.readyState !== WebSocket.OPEN) return;
        const response = await handleMessage(driven, data);
        waiting--;
        if (socket.readyState !== WebSocket.OPEN) return;
        if (response === undefined) socket.close(NORMAL);
        else socket.send(response);
      });
    };
    socket.onerror = (event) => event.preventDefault(); // onclose follows and releases the connection
    socket.onclose = () => {
      this.#open--;
      driven.env[Symbol.asyncDispose]();
    };
  }
}

function refuse(socket: WebSocket, { active, limit }: { active: number; limit: number }): void {
  socket.onopen = () => {
    const counts = { active_sessions: active, max_sessions: limit };
    socket.send(envErrorMessage("CAPACITY_REACHED", `All ${limit} connections are in use`, counts));
    socket.close(NORMAL);
  };
}
