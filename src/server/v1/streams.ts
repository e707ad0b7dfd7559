import { createRoute } from "@hono/zod-openapi";
import * as z from "zod";
import type { ExecResult, MimeBundle } from "../../sandbox/contract/exec.ts";
import { EXEC_FIELDS } from "../../sandbox/contract/exec_fields.ts";
import { MAX_NAME_CHARACTERS } from "../../wire/limits.ts";
import { sessionExecRequestSchema } from "../../wire/v1.ts";
import { callAnswerSchema } from "../../wire/v1_tools.ts";
import type { Account } from "../admission/budget.ts";
import type { AppContext } from "../http/context.ts";
import { ServerError, toErrorBody, toPublicError } from "../http/http_errors.ts";
import { type BodyWriter, streamBody } from "../http/response_stream.ts";
import type { LiveExecOptions } from "../sessions/live_session.ts";
import type { SessionService } from "../sessions/session_service.ts";
import type { CallChannel } from "../sessions/session_tools.ts";
import { CALL_ANSWER, PROGRAM, PROGRAM_EVENTS } from "./examples.ts";
import { type Api, failures, idParams, jsonBody, keepIntegers } from "./route.ts";
import { findSession, toExecBody } from "./sessions.ts";

const tags = ["sessions"];

const STREAM_EVENTS =
  `Events 'stdout' and 'stderr' with {text}, then one 'result' or 'error'. In a session with tools also \
'call' with {callId, name, arguments}, to be answered at /v1/sessions/{id}/calls/{callId}, and 'cancel' with \
{callId} if the answer came too late`;

const stream = createRoute({
  operationId: "streamExec",
  method: "post",
  path: "/v1/sessions/{id}/stream",
  middleware: keepIntegers,
  tags,
  summary: "Run a program and stream its output",
  request: { params: idParams, body: jsonBody(sessionExecRequestSchema, PROGRAM) },
  responses: {
    200: {
      description: STREAM_EVENTS,
      content: { "text/event-stream": { schema: {}, example: PROGRAM_EVENTS } }, // a schema would apply to each event
    },
    ...failures("not_found"),
  },
});

/** Adds the route that streams the output of a program as server-sent events. */
export function addStreamRoutes(app: Api, sessions: SessionService): void {
  app.openapi(stream, async (c) => {
    const session = await findSession(sessions, c);
    const request = c.req.valid("json");
    return c.body(
      streamExecBody(c, (options) => {
        return session.exec(request.code, { ...EXEC_FIELDS.fromJson(request), ...options });
      }),
      200,
      STREAM_HEADERS,
    );
  });
}

/** Headers of a stream of events. */
export const STREAM_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-store" };

/** Returns the events of a program, which begins at once. */
export function streamExecBody(
  c: AppContext,
  exec: (options: LiveExecOptions & { signal: AbortSignal }) => Promise<ExecResult>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const memory = c.get("memory");
  return streamBody(async (body, signal) => {
    const onOutput = (stream: string, text: string) => {
      body.send(event(stream, { text }));
      return body.room();
    };
    const onDisplay = (bundle: MimeBundle) => {
      body.send(event("display", { data: bundle }));
      return body.room();
    };
    try {
      const result = await exec({ signal, onOutput, onDisplay, calls: callChannel(body, memory) });
      body.send(event("result", toExecBody(result)));
    } catch (error) {
      body.send(event("error", toErrorBody(toPublicError(error))));
    }
  }, { signal: c.get("signal"), memory });
}

/** Returns the way on which calls reach the reader of a stream. */
export function callChannel(body: BodyWriter, memory: Account): CallChannel {
  return {
    call: (data) => body.send(event("call", data)),
    cancel: (data) => body.send(event("cancel", data)),
    memory,
  };
}

/** Returns an event with the data. */
export function event(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}

const answerCall = createRoute({
  operationId: "answerCall",
  method: "post",
  path: "/v1/sessions/{id}/calls/{callId}",
  middleware: keepIntegers,
  tags,
  summary: "Answer a call of one of your tools",
  description:
    "The response comes when the program has the answer, or has ended. A call can be answered once.",
  request: {
    params: idParams.extend({ callId: z.string().max(MAX_NAME_CHARACTERS).meta({ example: "call_1" }) }),
    body: jsonBody(callAnswerSchema, CALL_ANSWER),
  },
  responses: { 204: { description: "Done" }, ...failures("not_found", "conflict") },
});

/** Adds the route that answers calls of a session's tools. */
export function addCallRoutes(app: Api, sessions: SessionService): void {
  app.openapi(answerCall, async (c) => {
    const { callId } = c.req.valid("param");
    const { tools } = await findSession(sessions, c);
    if (tools === undefined) throw new ServerError("not_found", "The session has no tools");
    await tools.answer(callId, c.req.valid("json"));
    return c.body(null, 204);
  });
}
