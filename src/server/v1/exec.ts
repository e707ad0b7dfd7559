import { createRoute } from "@hono/zod-openapi";
import type * as z from "zod";
import { EXEC_FIELDS } from "../../sandbox/contract/exec_fields.ts";
import { execResultSchema } from "../../wire/v1.ts";
import { programRequestSchema } from "../../wire/v1_sessions.ts";
import type { AppContext } from "../http/context.ts";
import type { LiveSession } from "../sessions/live_session.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { PROGRAM, PROGRAM_EVENTS, PROGRAM_RESULT } from "./examples.ts";
import { type Api, failures, jsonBody, jsonResponse, keepIntegers } from "./route.ts";
import { toExecBody } from "./sessions.ts";
import { STREAM_HEADERS, streamExecBody } from "./streams.ts";

const tags = ["sessions"];
const request = { body: jsonBody(programRequestSchema, PROGRAM) };

const exec = createRoute({
  operationId: "execProgram",
  method: "post",
  path: "/v1/exec",
  middleware: keepIntegers,
  tags,
  summary: "Run one program in a fresh session, which then ends",
  request,
  responses: {
    200: jsonResponse(execResultSchema, "The result", { example: PROGRAM_RESULT }),
    ...failures("timeout"),
  },
});

const stream = createRoute({
  operationId: "streamProgram",
  method: "post",
  path: "/v1/exec/stream",
  middleware: keepIntegers,
  tags,
  summary: "Run one program in a fresh session and stream its output",
  request,
  responses: {
    200: {
      description: "Events 'stdout' and 'stderr' with {text}, then one 'result' or 'error'",
      content: { "text/event-stream": { schema: {}, example: PROGRAM_EVENTS } }, // a schema would apply to each event
    },
    ...failures("timeout"),
  },
});

/** Adds the routes that run a program. */
export function addExecRoutes(app: Api, sessions: SessionService): void {
  app.openapi(exec, async (c) => {
    const request = c.req.valid("json");
    await using session = await borrow(sessions, request, c);
    const options = { ...EXEC_FIELDS.fromJson(request), signal: c.get("signal") };
    const result = await session.exec(request.code, options);
    return c.json(toExecBody(result), 200);
  });
  app.openapi(stream, async (c) => {
    const request = c.req.valid("json");
    const borrowed = await borrow(sessions, request, c);
    const body = streamExecBody(c, async (options) => {
      await using session = borrowed;
      return await session.exec(request.code, { ...EXEC_FIELDS.fromJson(request), ...options });
    });
    return c.body(body, 200, STREAM_HEADERS);
  });
}

async function borrow(
  sessions: SessionService,
  { seed, limits }: z.output<typeof programRequestSchema>,
  c: AppContext,
): Promise<LiveSession> {
  return await sessions.borrow({ owner: c.get("owner"), seed, limits, once: true, signal: c.get("signal") });
}
