import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { execRequest } from "../../wire/v1.ts";
import { streamBody } from "../live_body.ts";
import { toErrorBody, toPublicError } from "../server_error.ts";
import type { SessionService } from "../session_service.ts";
import { type Api, failures, idParams, jsonBody } from "./route.ts";
import { toExecBody, toExecOptions } from "./session_bodies.ts";
import { findSession } from "./sessions.ts";

const stream = createRoute({
  method: "post",
  path: "/v1/sessions/{id}/stream",
  tags: ["sessions"],
  summary: "Run a program and stream its output",
  request: { params: idParams, body: jsonBody(execRequest) },
  responses: {
    200: {
      description: "Events 'stdout' and 'stderr' with {text}, then one 'result' or 'error'",
      content: { "text/event-stream": { schema: z.string() } },
    },
    ...failures,
  },
});

/** Adds the route that streams the output of a program as server-sent events. */
export function addStreamRoutes(app: Api, sessions: SessionService): void {
  app.openapi(stream, (c) => {
    const session = findSession(sessions, c);
    const request = c.req.valid("json");
    const body = streamBody(async (send, signal) => {
      const onOutput = (stream: string, text: string) => send(event(stream, { text }));
      try {
        const result = await session.exec(request.code, { ...toExecOptions(request, signal), onOutput });
        send(event("result", toExecBody(result)));
      } catch (error) {
        send(event("error", toErrorBody(toPublicError(error))));
      }
    }, c.get("signal"));
    return c.body(body, 200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  });
}

function event(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}
