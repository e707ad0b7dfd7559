import { createRoute } from "@hono/zod-openapi";
import * as z from "zod";
import {
  checkpointInfoSchema,
  checkpointListSchema,
  checkpointRequestSchema,
  forkRequestSchema,
  forkResponseSchema,
  restoreRequestSchema,
} from "../../wire/v1_checkpoints.ts";
import { checkpointIdSchema } from "../../wire/v1_sessions.ts";
import { piecesOf } from "../../sandbox/checkpoint/checkpoint.ts";
import type { CheckpointService } from "../checkpoints/checkpoint_service.ts";
import type { StoredCheckpoint } from "../checkpoints/checkpoint_store.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { onEnd } from "../http/response_stream.ts";
import { CHECKPOINT, SESSION } from "./examples.ts";
import { type Api, failures, idParams, jsonBody, jsonResponse, optionalJsonBody } from "./route.ts";
import { findSession, toSessionBody } from "./sessions.ts";

const tags = ["checkpoints"];
const running = failures("not_found", "conflict", "timeout");
const params = z.object({ id: checkpointIdSchema });
const BINARY = "application/octet-stream";
const file = { [BINARY]: { schema: z.string().meta({ format: "binary" }) } };

const create = createRoute({
  operationId: "checkpointSession",
  method: "post",
  path: "/v1/sessions/{id}/checkpoint",
  tags,
  summary: "Keep the state of a session; after the running program, if there is one",
  request: { params: idParams, body: optionalJsonBody(checkpointRequestSchema, { memory: true }) },
  responses: {
    201: jsonResponse(checkpointInfoSchema, "The checkpoint", { example: CHECKPOINT }),
    ...running,
  },
});

const restore = createRoute({
  operationId: "restoreSession",
  method: "post",
  path: "/v1/sessions/{id}/restore",
  tags,
  summary: "Return a session to a checkpoint",
  request: { params: idParams, body: jsonBody(restoreRequestSchema, { checkpoint: CHECKPOINT.id }) },
  responses: { 204: { description: "Done" }, ...running },
});

const fork = createRoute({
  operationId: "forkSession",
  method: "post",
  path: "/v1/sessions/{id}/fork",
  tags,
  summary: "Open copies of a session, each with random numbers of its own",
  request: { params: idParams, body: optionalJsonBody(forkRequestSchema, { count: 1, seed: 7 }) },
  responses: {
    201: jsonResponse(forkResponseSchema, "The copies", { example: { sessions: [SESSION] } }),
    ...running,
  },
});

const list = createRoute({
  operationId: "listCheckpoints",
  method: "get",
  path: "/v1/checkpoints",
  tags,
  summary: "List your checkpoints",
  responses: {
    200: jsonResponse(checkpointListSchema, "Least recently used first", {
      example: { checkpoints: [CHECKPOINT] },
    }),
  },
});

const importFile = createRoute({
  operationId: "importCheckpoint",
  method: "post",
  path: "/v1/checkpoints",
  tags,
  summary: "Keep a checkpoint that was exported; this host must have signed it for your token",
  request: { body: { required: true, content: file } },
  responses: {
    201: jsonResponse(checkpointInfoSchema, "The checkpoint", { example: CHECKPOINT }),
    ...failures("conflict", "forbidden", "timeout"),
  },
});

const exportFile = createRoute({
  operationId: "exportCheckpoint",
  method: "get",
  path: "/v1/checkpoints/{id}",
  tags,
  summary: "Export a checkpoint as a file, which contains the session's data and is not encrypted",
  request: { params },
  responses: { 200: { description: "The file", content: file }, ...failures("not_found") },
});

const remove = createRoute({
  operationId: "deleteCheckpoint",
  method: "delete",
  path: "/v1/checkpoints/{id}",
  tags,
  summary: "Delete a checkpoint",
  request: { params },
  responses: { 204: { description: "Done" }, ...failures("not_found") },
});

/** Services of {@linkcode addCheckpointRoutes}. */
export interface CheckpointRouteOptions {
  readonly sessions: SessionService;
  readonly checkpoints: CheckpointService;
}

/** Adds the routes of checkpoints: create, restore, fork, list, import, export, delete. */
export function addCheckpointRoutes(app: Api, { sessions, checkpoints }: CheckpointRouteOptions): void {
  app.openapi(create, async (c) => {
    const { memory } = c.req.valid("json");
    const session = await findSession(sessions, c);
    const checkpoint = await checkpoints.create(session, { memory, signal: c.get("signal") });
    return c.json(toCheckpointBody(checkpoint), 201);
  });
  app.openapi(restore, async (c) => {
    const { checkpoint } = c.req.valid("json");
    await checkpoints.restore(await findSession(sessions, c), checkpoint, c.get("signal"));
    return c.body(null, 204);
  });
  app.openapi(fork, async (c) => {
    const { count, seed } = c.req.valid("json");
    const copies = await sessions.fork(await findSession(sessions, c), count, {
      seed,
      signal: c.get("signal"),
    });
    return c.json({ sessions: copies.map(toSessionBody) }, 201);
  });
  app.openapi(list, (c) => {
    return c.json({ checkpoints: checkpoints.store.list(c.get("owner")).map(toCheckpointBody) }, 200);
  });
  app.openapi(importFile, async (c) => {
    const checkpoint = await checkpoints.import(c.get("owner"), await c.req.bytes(), c.get("signal"));
    return c.json(toCheckpointBody(checkpoint), 201);
  });
  app.openapi(exportFile, (c) => {
    const held = checkpoints.store.hold(c.get("owner"), c.req.valid("param").id);
    c.set("isCounted", true);
    return c.body(onEnd(ReadableStream.from(piecesOf(held.checkpoint)), () => held[Symbol.dispose]()), 200, {
      "content-type": BINARY,
      "content-disposition": "attachment",
      "content-length": String(held.checkpoint.storedBytes),
    });
  });
  app.openapi(remove, (c) => {
    checkpoints.store.delete(c.get("owner"), c.req.valid("param").id);
    return c.body(null, 204);
  });
}

function toCheckpointBody(
  { id, bytes, tools, createdAt, usedAt, expiresAt }: StoredCheckpoint,
): z.output<typeof checkpointInfoSchema> {
  return {
    id,
    bytes,
    tools: [...tools],
    createdAt: createdAt.toISOString(),
    usedAt: usedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}
