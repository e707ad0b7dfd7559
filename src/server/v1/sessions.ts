import { createRoute } from "@hono/zod-openapi";
import type * as z from "zod";
import type { ExecResult, ToolAnswer, WaitingCall } from "../../sandbox/contract/exec.ts";
import { withRawIntegers } from "../../numbers/exact_numbers.ts";
import { EXEC_FIELDS } from "../../sandbox/contract/exec_fields.ts";
import { toBase64Files } from "../../sandbox/contract/wire_forms.ts";
import {
  execResultSchema,
  resumeRequestSchema,
  sessionExecRequestSchema,
  shellRequestSchema,
  shellResultSchema,
} from "../../wire/v1.ts";
import {
  createSessionRequestSchema,
  resetSessionRequestSchema,
  sessionInfoSchema,
  sessionListSchema,
  sessionQuerySchema,
} from "../../wire/v1_sessions.ts";
import type { callAnswerSchema, callEventSchema } from "../../wire/v1_tools.ts";
import type { CheckpointService } from "../checkpoints/checkpoint_service.ts";
import type { HeldCheckpoint } from "../checkpoints/checkpoint_store.ts";
import type { AppContext } from "../http/context.ts";
import { ServerError } from "../http/http_errors.ts";
import type { LiveSession } from "../sessions/live_session.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { SessionTools } from "../sessions/session_tools.ts";
import {
  COMMAND,
  COMMAND_RESULT,
  CREATE_SESSION,
  PROGRAM,
  PROGRAM_RESULT,
  RESUME,
  SESSION,
} from "./examples.ts";
import {
  type Api,
  failures,
  idParams,
  jsonBody,
  jsonResponse,
  keepIntegers,
  optionalJsonBody,
} from "./route.ts";

const params = idParams;
const tags = ["sessions"];
const running = failures("not_found", "conflict", "timeout");
const done = { 204: { description: "Done" }, ...running };

const create = createRoute({
  operationId: "createSession",
  method: "post",
  path: "/v1/sessions",
  tags,
  summary: "Open a Python session",
  request: { body: optionalJsonBody(createSessionRequestSchema, CREATE_SESSION) },
  responses: {
    201: jsonResponse(sessionInfoSchema, "The session", { example: SESSION }),
    ...failures("timeout"),
  },
});

const list = createRoute({
  operationId: "listSessions",
  method: "get",
  path: "/v1/sessions",
  tags,
  summary: "List your sessions",
  request: { query: sessionQuerySchema },
  responses: { 200: jsonResponse(sessionListSchema, "Oldest first", { example: { sessions: [SESSION] } }) },
});

const show = createRoute({
  operationId: "getSession",
  method: "get",
  path: "/v1/sessions/{id}",
  tags,
  summary: "Get a session",
  request: { params },
  responses: {
    200: jsonResponse(sessionInfoSchema, "The session", { example: SESSION }),
    ...failures("not_found"),
  },
});

const end = createRoute({
  operationId: "endSession",
  method: "delete",
  path: "/v1/sessions/{id}",
  tags,
  summary: "End a session",
  request: { params },
  responses: done,
});

const exec = createRoute({
  operationId: "execInSession",
  method: "post",
  path: "/v1/sessions/{id}/exec",
  middleware: keepIntegers,
  tags,
  summary: "Run a program in a session",
  request: { params, body: jsonBody(sessionExecRequestSchema, PROGRAM) },
  responses: { 200: jsonResponse(execResultSchema, "The result", { example: PROGRAM_RESULT }), ...running },
});

const resume = createRoute({
  operationId: "resumeExec",
  method: "post",
  path: "/v1/sessions/{id}/resume",
  middleware: keepIntegers,
  tags,
  summary: "Answer the call that a program waits for, and run the program until it waits again or ends",
  request: { params, body: jsonBody(resumeRequestSchema, RESUME) },
  responses: { 200: jsonResponse(execResultSchema, "The result", { example: PROGRAM_RESULT }), ...running },
});

const shell = createRoute({
  operationId: "runShellCommand",
  method: "post",
  path: "/v1/sessions/{id}/shell",
  tags,
  summary: "Run a shell command in a session; the server's profile must have a shell",
  request: { params, body: jsonBody(shellRequestSchema, COMMAND) },
  responses: { 200: jsonResponse(shellResultSchema, "The result", { example: COMMAND_RESULT }), ...running },
});

const reset = createRoute({
  operationId: "resetSession",
  method: "post",
  path: "/v1/sessions/{id}/reset",
  tags,
  summary: "Reset a session to its initial state",
  request: { params, body: optionalJsonBody(resetSessionRequestSchema, { mode: "rewind" }) },
  responses: done,
});

/** Services of {@linkcode addSessionRoutes}. */
export interface SessionRouteOptions {
  readonly sessions: SessionService;
  /** Checkpoints with which sessions may start. */
  readonly checkpoints?: CheckpointService | undefined;
}

/** Adds the routes of sessions: create, list, get, exec, shell, reset, end. */
export function addSessionRoutes(app: Api, { sessions, checkpoints }: SessionRouteOptions): void {
  app.openapi(create, async (c) => {
    const { tools: specs, ttlSeconds, from: checkpointId, ...options } = c.req.valid("json");
    const tools = specs && new SessionTools(specs);
    const ttlMs = ttlSeconds && 1000 * ttlSeconds;
    const [owner, signal] = [c.get("owner"), c.get("signal")];
    using held = checkpointId === undefined ? undefined : holdCheckpoint(checkpoints, owner, checkpointId);
    const from = held?.checkpoint;
    const session = await sessions.create({ ...options, owner, tools, ttlMs, from, isShared: true, signal });
    return c.json(toSessionBody(session), 201);
  });
  app.openapi(list, (c) => {
    const metadata = parseMetadataQuery(c.req.valid("query").metadata ?? "");
    return c.json({ sessions: sessions.directory.list(c.get("owner"), metadata).map(toSessionBody) }, 200);
  });
  app.openapi(show, async (c) => c.json(toSessionBody(await findSession(sessions, c)), 200));
  app.openapi(end, async (c) => {
    const session = await findSession(sessions, c);
    await sessions.end(session);
    return c.body(null, 204);
  });
  app.openapi(exec, async (c) => {
    const request = c.req.valid("json");
    const session = await findSession(sessions, c);
    const options = { ...EXEC_FIELDS.fromJson(request), signal: c.get("signal") };
    const result = await session.exec(request.code, options);
    return c.json(toExecBody(result), 200);
  });
  app.openapi(resume, async (c) => {
    const { callId, timeoutMs, ...answer } = c.req.valid("json");
    const session = await findSession(sessions, c);
    const result = await session.resume(toToolAnswer(answer), { callId, timeoutMs, signal: c.get("signal") });
    return c.json(toExecBody(result), 200);
  });
  app.openapi(shell, async (c) => {
    const { command, ...options } = c.req.valid("json");
    const session = await findSession(sessions, c);
    return c.json(await session.shell(command, { ...options, signal: c.get("signal") }), 200);
  });
  app.openapi(reset, async (c) => {
    const session = await findSession(sessions, c);
    await session.reset({ ...c.req.valid("json"), signal: c.get("signal") });
    return c.body(null, 204);
  });
}

function holdCheckpoint(
  checkpoints: CheckpointService | undefined,
  owner: string,
  id: string,
): HeldCheckpoint {
  if (checkpoints) return checkpoints.store.hold(owner, id);
  throw new ServerError("not_found", "There is no such checkpoint");
}

/** Returns the session of the path's id. */
export async function findSession(sessions: SessionService, c: AppContext): Promise<LiveSession> {
  return await sessions.locate(c.req.param("id") ?? "", c.get("owner"));
}

/** Returns the metadata of a query, which is encoded as a query of its own by E2B's clients. */
function parseMetadataQuery(text: string): Record<string, string> {
  const metadata = new Map<string, string>();
  for (const [key, value] of new URLSearchParams(text)) {
    if (metadata.has(key)) throw new ServerError("invalid", "metadata: a key must not occur twice");
    metadata.set(key, value);
  }
  return Object.fromEntries(metadata);
}

function toToolAnswer({ value, error }: z.output<typeof callAnswerSchema>): ToolAnswer {
  return error === undefined ? { value } : { error };
}

/** Returns a result as JSON. */
export function toExecBody({ files, ...result }: ExecResult): z.output<typeof execResultSchema> {
  const body = "call" in result ? { ...result, call: toCallBody(result.call) } : result;
  return files === undefined ? body : { ...body, files: toBase64Files(files) };
}

/** Returns a call as JSON; integers of the arguments keep all digits. */
function toCallBody(call: WaitingCall): z.output<typeof callEventSchema> {
  return { ...call, arguments: withRawIntegers(call.arguments) as Record<string, unknown> };
}

/** Returns a session as JSON. */
export function toSessionBody(
  { id, createdAt, life, execs, limits, metadata, checkpointEvery, tools, waiting }: LiveSession,
): z.output<typeof sessionInfoSchema> {
  const { usedAt, expiresAt, unusable } = life;
  return {
    id,
    execs,
    createdAt: createdAt.toISOString(),
    usedAt: usedAt.toISOString(),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
    ...(limits && { limits }),
    ...(metadata && { metadata }),
    ...(checkpointEvery !== undefined && { checkpointEvery }),
    ...(tools && { tools: tools.names }),
    ...(waiting && { waiting: toCallBody(waiting) }),
    ...(unusable && { unusable: unusable.code }),
  };
}
