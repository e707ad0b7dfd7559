import { createRoute } from "@hono/zod-openapi";
import * as z from "zod";
import { MAX_PATH_CHARACTERS } from "../../wire/limits.ts";
import { fromBase64Files } from "../../sandbox/contract/wire_forms.ts";
import {
  type fileInfoSchema,
  fileListSchema,
  filesRequestSchema,
  filesWrittenSchema,
  listFilesQuerySchema,
  makeDirectoryRequestSchema,
  removeFileQuerySchema,
} from "../../wire/v1_sessions.ts";
import type { SessionService } from "../sessions/session_service.ts";
import type { FolderEntry } from "../sessions/files/session_folder.ts";
import { FILE_LIST, FILES } from "./examples.ts";
import { type Api, failures, idParams, jsonBody, jsonResponse } from "./route.ts";
import { findSession } from "./sessions.ts";

const tags = ["files"];
const running = failures("not_found", "conflict", "timeout");

const list = createRoute({
  operationId: "listFiles",
  method: "get",
  path: "/v1/sessions/{id}/files",
  tags,
  summary: "List the files of a session, or the entries of a folder",
  request: { params: idParams, query: listFilesQuerySchema },
  responses: {
    200: jsonResponse(fileListSchema, "The files, as reported by the session", { example: FILE_LIST }),
    ...running,
  },
});

const remove = createRoute({
  operationId: "removeFile",
  method: "delete",
  path: "/v1/sessions/{id}/files",
  tags,
  summary: "Remove a file or a folder of a session",
  request: { params: idParams, query: removeFileQuerySchema },
  responses: { 204: { description: "Done" }, ...running },
});

const makeDirectory = createRoute({
  operationId: "makeDirectory",
  method: "post",
  path: "/v1/sessions/{id}/directories",
  tags,
  summary: "Make a folder in a session, and those above it",
  request: { params: idParams, body: jsonBody(makeDirectoryRequestSchema, { path: "data/raw" }) },
  responses: { 204: { description: "Done, also if the folder existed" }, ...running },
});

const read = createRoute({
  operationId: "readFile",
  method: "get",
  path: "/v1/sessions/{id}/file",
  tags,
  summary: "Read a file of a session",
  request: {
    params: idParams,
    query: z.object({
      path: z.string().min(1).max(MAX_PATH_CHARACTERS).meta({ example: "data.txt" })
        .describe("relative to the working directory, or absolute in the session's own file system"),
    }),
  },
  responses: {
    200: {
      description: "Contents of the file",
      content: { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } },
    },
    ...running,
  },
});

const write = createRoute({
  operationId: "writeFiles",
  method: "post",
  path: "/v1/sessions/{id}/files",
  tags,
  summary: "Write files into a session",
  request: { params: idParams, body: jsonBody(filesRequestSchema, FILES) },
  responses: {
    200: jsonResponse(filesWrittenSchema, "Number of files written", { example: { written: 1 } }),
    ...running,
  },
});

/** Adds the routes of the files of sessions: list, remove, make folders, read and write. */
export function addFileRoutes(app: Api, sessions: SessionService): void {
  app.openapi(list, async (c) => {
    const session = await findSession(sessions, c);
    const { path } = c.req.valid("query");
    if (path === undefined) {
      const files = await session.files.list(c.get("signal"));
      return c.json({ files: files.map((file) => toFileInfo({ ...file, type: "file" })) }, 200);
    }
    const { entries, total } = await session.files.listFolder(path, c.get("signal"));
    const isCut = total > entries.length;
    return c.json({ files: entries.map(toFileInfo), total, ...(isCut && { truncated: true as const }) }, 200);
  });
  app.openapi(remove, async (c) => {
    const { path, recursive } = c.req.valid("query");
    await (await findSession(sessions, c)).files.remove(path, {
      recursive: recursive === "true",
      signal: c.get("signal"),
    });
    return c.body(null, 204);
  });
  app.openapi(makeDirectory, async (c) => {
    await (await findSession(sessions, c)).files.makeDirectory(c.req.valid("json").path, c.get("signal"));
    return c.body(null, 204);
  });
  app.openapi(read, async (c) => {
    const contents = await (await findSession(sessions, c)).files.read(
      c.req.valid("query").path,
      c.get("signal"),
    );
    return c.body(new Uint8Array(contents), 200, {
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
    });
  });
  app.openapi(write, async (c) => {
    const session = await findSession(sessions, c);
    const files = Object.entries(fromBase64Files(c.req.valid("json").files));
    for (const [path, contents] of files) await session.files.write(path, contents, c.get("signal"));
    return c.json({ written: files.length }, 200);
  });
}

/** Returns an entry as JSON. The guest can set a time that is no date. */
function toFileInfo({ path, type, bytes, writtenNs }: FolderEntry): z.output<typeof fileInfoSchema> {
  const modified = new Date(writtenNs / 1e6);
  const isDate = !Number.isNaN(modified.getTime());
  return { path, bytes, type, ...(isDate && { modifiedAt: modified.toISOString() }) };
}
