import { createRoute } from "@hono/zod-openapi";
import {
  createSessionRequest,
  execRequest,
  execResult,
  resetSessionRequest,
  sessionInfo,
  sessionList,
  shellRequest,
  shellResult,
} from "../../wire/v1.ts";
import type { AppContext } from "../app_env.ts";
import type { LiveSession } from "../live_session.ts";
import type { SessionService } from "../session_service.ts";
import { type Api, failures, idParams, jsonBody, jsonResponse } from "./route.ts";
import { toExecBody, toExecOptions, toSessionBody } from "./session_bodies.ts";

const params = idParams;
const tags = ["sessions"];
const done = { 204: { description: "Done" }, ...failures };

const create = createRoute({
  method: "post",
  path: "/v1/sessions",
  tags,
  summary: "Open a Python session",
  request: { body: jsonBody(createSessionRequest) },
  responses: { 201: jsonResponse(sessionInfo, "The session"), ...failures },
});

const list = createRoute({
  method: "get",
  path: "/v1/sessions",
  tags,
  summary: "List your sessions",
  responses: { 200: jsonResponse(sessionList, "Oldest first"), ...failures },
});

const show = createRoute({
  method: "get",
  path: "/v1/sessions/{id}",
  tags,
  summary: "Get a session",
  request: { params },
  responses: { 200: jsonResponse(sessionInfo, "The session"), ...failures },
});

const end = createRoute({
  method: "delete",
  path: "/v1/sessions/{id}",
  tags,
  summary: "End a session",
  request: { params },
  responses: done,
});

const exec = createRoute({
  method: "post",
  path: "/v1/sessions/{id}/exec",
  tags,
  summary: "Run a program in a session",
  request: { params, body: jsonBody(execRequest) },
  responses: { 200: jsonResponse(execResult, "The result"), ...failures },
});

const shell = createRoute({
  method: "post",
  path: "/v1/sessions/{id}/shell",
  tags,
  summary: "Run a shell command in a session; the server's profile must have a shell",
  request: { params, body: jsonBody(shellRequest) },
  responses: { 200: jsonResponse(shellResult, "The result"), ...failures },
});

const reset = createRoute({
  method: "post",
  path: "/v1/sessions/{id}/reset",
  tags,
  summary: "Reset a session to its initial state",
  request: { params, body: jsonBody(resetSessionRequest) },
  responses: done,
});

/** Adds the routes of sessions: create, list, get, exec, shell, reset, end. */
export function addSessionRoutes(app: Api, sessions: SessionService): void {
  app.openapi(create, async (c) => {
    const { seed } = c.req.valid("json");
    const session = await sessions.create({ owner: c.get("owner"), seed, signal: c.get("signal") });
    return c.json(toSessionBody(session), 201);
  });
  app.openapi(list, (c) => c.json({ sessions: sessions.list(c.get("owner")).map(toSessionBody) }, 200));
  app.openapi(show, (c) => c.json(toSessionBody(findSession(sessions, c)), 200));
  app.openapi(end, async (c) => {
    await findSession(sessions, c)[Symbol.asyncDispose]();
    return c.body(null, 204);
  });
  app.openapi(exec, async (c) => {
    const request = c.req.valid("json");
    const result = await findSession(sessions, c).exec(request.code, toExecOptions(request, c.get("signal")));
    return c.json(toExecBody(result), 200);
  });
  app.openapi(shell, async (c) => {
    const { command, ...options } = c.req.valid("json");
    return c.json(
      await findSession(sessions, c).shell(command, { ...options, signal: c.get("signal") }),
      200,
    );
  });
  app.openapi(reset, async (c) => {
    await findSession(sessions, c).reset({ ...c.req.valid("json"), signal: c.get("signal") });
    return c.body(null, 204);
  });
}

/** Returns the session of the path's id. */
export function findSession(sessions: SessionService, c: AppContext): LiveSession {
  return sessions.find(c.req.param("id") ?? "", c.get("owner"));
}
