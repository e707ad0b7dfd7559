import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { MAX_PATH_CHARACTERS } from "../../wire/limits.ts";
import { fileList, filesRequest, filesWritten, fromBase64Files } from "../../wire/v1.ts";
import type { SessionService } from "../session_service.ts";
import { type Api, failures, idParams, jsonBody, jsonResponse } from "./route.ts";
import { findSession } from "./sessions.ts";

const listFiles = createRoute({
  method: "get",
  path: "/v1/sessions/{id}/files",
  tags: ["files"],
  summary: "List the files of a session",
  request: { params: idParams },
  responses: { 200: jsonResponse(fileList, "The files, as reported by the session"), ...failures },
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
  request: { params: idParams, body: jsonBody(filesRequest) },
  responses: { 200: jsonResponse(filesWritten, "Number of files written"), ...failures },
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
