import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import type { ExecOptions, ExecResult } from "../../sandbox/exec.ts";
import { MAX_PATH_CHARACTERS } from "../../wire/limits.ts";
import {
  createSessionRequestSchema,
  execRequestSchema,
  execResultSchema,
  fileListSchema,
  filesRequestSchema,
  filesWrittenSchema,
  fromBase64Files,
  resetSessionRequestSchema,
  sessionInfoSchema,
  sessionListSchema,
  shellRequestSchema,
  shellResultSchema,
  toBase64Files,
} from "../../wire/v1.ts";
import type { AppContext } from "../http/context.ts";
import { toErrorBody, toPublicError } from "../http/errors.ts";
import { streamBody } from "../http/response_stream.ts";
import type { LiveSession } from "../sessions/live_session.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { type Api, failures, idParams, jsonBody, jsonResponse, optionalJsonBody } from "./route.ts";

const params = idParams;
const tags = ["sessions"];
const done = { 204: { description: "Done" }, ...failures };

const create = createRoute({
  method: "post",
  path: "/v1/sessions",
  tags,
  summary: "Open a Python session",
  request: { body: optionalJsonBody(createSessionRequestSchema) },
  responses: { 201: jsonResponse(sessionInfoSchema, "The session"), ...failures },
});

const list = createRoute({
  method: "get",
  path: "/v1/sessions",
  tags,
  summary: "List your sessions",
  responses: { 200: jsonResponse(sessionListSchema, "Oldest first"), ...failures },
});

const show = createRoute({
  method: "get",
  path: "/v1/sessions/{id}",
  tags,
  summary: "Get a session",
  request: { params },
  responses: { 200: jsonResponse(sessionInfoSchema, "The session"), ...failures },
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
  request: { params, body: jsonBody(execRequestSchema) },
  responses: { 200: jsonResponse(execResultSchema, "The result"), ...failures },
});

const shell = createRoute({
  method: "post",
  path: "/v1/sessions/{id}/shell",
  tags,
  summary: "Run a shell command in a session; the server's profile must have a shell",
  request: { params, body: jsonBody(shellRequestSchema) },
  responses: { 200: jsonResponse(shellResultSchema, "The result"), ...failures },
});

const reset = createRoute({
  method: "post",
  path: "/v1/sessions/{id}/reset",
  tags,
  summary: "Reset a session to its initial state",
  request: { params, body: optionalJsonBody(resetSessionRequestSchema) },
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

const stream = createRoute({
  method: "post",
  path: "/v1/sessions/{id}/stream",
  tags: ["sessions"],
  summary: "Run a program and stream its output",
  request: { params: idParams, body: jsonBody(execRequestSchema) },
  responses: {
    200: {
      description: "Events 'stdout' and 'stderr' with {text}, then one 'result' or 'error'",
      content: { "text/event-stream": { schema: {} } }, // the schema would apply to each event
    },
    ...failures,
  },
});

/** Adds the route that streams the output of a program as server-sent events. */
export function addStreamRoutes(app: Api, sessions: SessionService): void {
  app.openapi(stream, (c) => {
    const session = findSession(sessions, c);
    const request = c.req.valid("json");
    const body = streamBody(async (body, signal) => {
      const onOutput = (stream: string, text: string) => {
        body.send(event(stream, { text }));
        return body.room();
      };
      try {
        const result = await session.exec(request.code, { ...toExecOptions(request, signal), onOutput });
        body.send(event("result", toExecBody(result)));
      } catch (error) {
        body.send(event("error", toErrorBody(toPublicError(error))));
      }
    }, { signal: c.get("signal"), memory: c.get("memory") });
    return c.body(body, 200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  });
}

function event(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}

const listFiles = createRoute({
  method: "get",
  path: "/v1/sessions/{id}/files",
  tags: ["files"],
  summary: "List the files of a session",
  request: { params: idParams },
  responses: { 200: jsonResponse(fileListSchema, "The files, as reported by the session"), ...failures },
});

const readFile = createRoute({
  method: "get",
  path: "/v1/sessions/{id}/file",
  tags: ["files"],
  summary: "Read a file of a session",
  request: { params: idParams, query: z.object({ path: z.string().min(1).max(MAX_PATH_CHARACTERS) }) },
  responses: {
    200: {
      description: "Contents of the file",
      content: { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } },
    },
    ...failures,
  },
});

const writeFiles = createRoute({
  method: "post",
  path: "/v1/sessions/{id}/files",
  tags: ["files"],
  summary: "Write files into a session",
  request: { params: idParams, body: jsonBody(filesRequestSchema) },
  responses: { 200: jsonResponse(filesWrittenSchema, "Number of files written"), ...failures },
});

/** Adds the routes that list, read and write files of sessions. */
export function addFileRoutes(app: Api, sessions: SessionService): void {
  app.openapi(listFiles, async (c) => {
    const files = await findSession(sessions, c).listFiles(c.get("signal"));
    return c.json({ files: files.map(({ path, bytes }) => ({ path, bytes })) }, 200);
  });
  app.openapi(readFile, async (c) => {
    const contents = await findSession(sessions, c).readFile(c.req.valid("query").path);
    return c.body(new Uint8Array(contents), 200, {
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
    });
  });
  app.openapi(writeFiles, async (c) => {
    const session = findSession(sessions, c);
    const files = Object.entries(fromBase64Files(c.req.valid("json").files));
    for (const [path, contents] of files) await session.writeFile(path, contents);
    return c.json({ written: files.length }, 200);
  });
}

/** Returns the options of a program that a request states. */
export function toExecOptions(
  { files, timeoutMs, stdin, fetchFiles }: z.output<typeof execRequestSchema>,
  signal: AbortSignal,
): ExecOptions {
  return { timeoutMs, stdin, fetchFiles, signal, files: fromBase64Files(files ?? {}) };
}

/** Returns a result as JSON. */
export function toExecBody({ files, ...result }: ExecResult): z.output<typeof execResultSchema> {
  return files === undefined ? result : { ...result, files: toBase64Files(files) };
}

/** Returns a session as JSON. */
export function toSessionBody(
  { id, createdAt, usedAt, execs }: LiveSession,
): z.output<typeof sessionInfoSchema> {
  return { id, execs, createdAt: createdAt.toISOString(), usedAt: usedAt.toISOString() };
}
