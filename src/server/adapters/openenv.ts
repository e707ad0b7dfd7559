import { Hono } from "hono";
import { z } from "zod";
import { PADDOCK_VERSION } from "../../version.ts";
import type { AppContext, AppEnv } from "../app_env.ts";
import type { SessionService } from "../session_service.ts";
import { detailAnswer, detailBody } from "./detail_error.ts";
import {
  codeAction,
  codeObservation,
  codeState,
  CodingEnv,
  resetData,
  stepSeconds,
} from "./openenv/coding_env.ts";
import { answerMessage } from "./openenv/env_messages.ts";

/** More messages than this may not wait on one connection, and none may be longer. */
const MAX_WAITING = 16;
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** A client that has so much to read, and reads it not, is cut off. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
const POLICY_VIOLATION = 1008;

const METADATA = {
  name: "paddock_coding_env",
  description: "Runs Python in a sandbox; variables live as long as the episode",
  readme_content: null,
  version: PADDOCK_VERSION,
  author: null,
  documentation_url: null,
};

const stepRequest = z.looseObject({
  action: codeAction,
  timeout_s: stepSeconds.nullish(),
  request_id: z.string().max(255).nullish(),
});

/**
 * What clients of OpenEnv ask for, with the coding env: over HTTP each request has an env of its own; on the
 * socket `/ws` there is one for each connection.
 */
export function openEnv(sessions: SessionService): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  const newEnv = (c: AppContext) =>
    new CodingEnv(sessions, { owner: c.get("owner"), signal: c.get("signal") });
  app.onError(detailAnswer);
  app.get("/health", (c) => c.json({ status: "healthy" }));
  app.get("/metadata", (c) => c.json(METADATA));
  app.get(
    "/schema",
    (c) =>
      c.json({ action: schema(codeAction), observation: schema(codeObservation), state: schema(codeState) }),
  );
  app.get("/state", (c) => c.json(newEnv(c).state()));
  app.post("/reset", async (c) => {
    const request = await detailBody(c, resetData);
    await using env = newEnv(c);
    return c.json(await env.reset(request));
  });
  app.post("/step", async (c) => {
    const { action, timeout_s } = await detailBody(c, stepRequest);
    await using env = newEnv(c);
    return c.json(await env.step(action, timeout_s ?? undefined));
  });
  app.get("/ws", (c) => {
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") return c.text("Upgrade Required", 426);
    const { socket, response } = Deno.upgradeWebSocket(c.req.raw);
    converse(socket, newEnv(c));
    return response;
  });
  return app;
}

/** Answers a connection's messages one after the other, and ends its env with it. */
function converse(socket: WebSocket, env: CodingEnv): void {
  let turn = Promise.resolve();
  let waiting = 0;
  socket.onmessage = ({ data }) => {
    const fits = typeof data === "string" && data.length <= MAX_CHARACTERS;
    const isSlow = socket.bufferedAmount > MAX_UNREAD_BYTES;
    if (!fits || isSlow || waiting >= MAX_WAITING) return socket.close(POLICY_VIOLATION, "too much at once");
    waiting++;
    turn = turn.then(async () => {
      const answer = await answerMessage(env, data);
      waiting--;
      if (answer === undefined) socket.close();
      else if (socket.readyState === WebSocket.OPEN) socket.send(answer);
    });
  };
  socket.onclose = () => {
    env[Symbol.asyncDispose]();
  };
}

function schema(type: z.ZodType): object {
  return z.toJSONSchema(type, { io: "input" });
}
