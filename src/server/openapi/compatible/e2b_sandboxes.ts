import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import {
  connectRequest,
  createSandboxRequest,
  refreshRequest,
  timeoutRequest,
} from "../../adapters/e2b/control.ts";
import { jsonBody, jsonResponse, optionalJsonBody } from "../../v1/route.ts";
import { type ErrorFormat, errorsOf } from "./errors.ts";

const tags = ["e2b"];
const ID = "83ba8b1956db389061c6cb4ac33c20cb3d0c18c9406c002d";
const STARTED = "2026-01-01T12:00:00.000Z";

const CODE_ERROR: ErrorFormat = {
  schema: z.object({ code: z.int(), message: z.string(), sandboxId: z.string().optional() })
    .meta({ id: "E2bError" }),
  example: { code: 404, message: "Sandbox 1 not found" },
};
const errors = errorsOf(CODE_ERROR, [400, 401, 404, 429, 501, 504]);
const inSandbox = errorsOf(CODE_ERROR, [400, 401, 404, 409, 429, 502, 504]);

const identity = z.object({
  sandboxID: z.string(),
  templateID: z.string(),
  clientID: z.string(),
  envdVersion: z.string(),
});
const connection = identity.extend({
  domain: z.null(),
  envdAccessToken: z.string().optional(),
  trafficAccessToken: z.string().optional(),
}).meta({ id: "E2bSandbox" });
const info = identity.extend({
  startedAt: z.string(),
  endAt: z.string(),
  state: z.literal("running"),
  cpuCount: z.int(),
  memoryMB: z.int(),
  diskSizeMB: z.int(),
  metadata: z.record(z.string(), z.string()),
  envdAccessToken: z.string().optional(),
}).meta({ id: "E2bSandboxInfo" });

const SANDBOX = { sandboxID: ID, templateID: "base", clientID: "paddock", envdVersion: "0.6.4" };
const CONNECTION = { ...SANDBOX, domain: null };
const INFO = {
  ...SANDBOX,
  startedAt: STARTED,
  endAt: "2026-01-01T12:05:00.000Z",
  state: "running",
  cpuCount: 1,
  memoryMB: 512,
  diskSizeMB: 0,
  metadata: {},
};

const params = z.object({ id: z.string() });
const done = { 204: { description: "Done" }, ...errors };
const connected = {
  200: jsonResponse(connection, "The sandbox", { example: CONNECTION }),
  ...errors,
};
const listQuery = z.object({
  metadata: z.string().optional().meta({ example: "user=ada" }),
  limit: z.int().min(1).optional(),
});

/** Returns the operations of E2B's sandboxes and their files. Old and new versions of the SDKs use other paths. */
export function e2bSandboxOperations(): RouteConfig[] {
  return [...["", "V2"].flatMap(versionedOperations), ...sandboxOperations()];
}

function versionedOperations(version: string): RouteConfig[] {
  const path = `${version === "" ? "" : "/v2"}/sandboxes`;
  return [
    {
      operationId: `createSandbox${version}`,
      method: "post",
      path,
      tags,
      summary: "Open a sandbox of E2B",
      request: {
        body: optionalJsonBody(createSandboxRequest.meta({ id: "E2bCreateSandbox" }), { timeout: 300 }),
      },
      responses: { 201: jsonResponse(connection, "The sandbox", { example: CONNECTION }), ...errors },
    },
    {
      operationId: `listSandboxes${version}`,
      method: "get",
      path,
      tags,
      summary: "List your sandboxes of E2B",
      request: { query: listQuery },
      responses: { 200: jsonResponse(z.array(info), "Newest first", { example: [INFO] }), ...errors },
    },
    {
      operationId: `connectSandbox${version}`,
      method: "post",
      path: `${path}/{id}/connect`,
      tags,
      summary: "Lengthen the life of a sandbox of E2B and get what its clients need",
      request: {
        params,
        body: optionalJsonBody(connectRequest.meta({ id: "E2bConnectSandbox" }), { timeout: 300 }),
      },
      responses: connected,
    },
  ];
}

function sandboxOperations(): RouteConfig[] {
  const path = "/sandboxes/{id}";
  return [
    {
      operationId: "getSandbox",
      method: "get",
      path,
      tags,
      summary: "Get a sandbox of E2B",
      request: { params },
      responses: { 200: jsonResponse(info, "The sandbox", { example: INFO }), ...errors },
    },
    {
      operationId: "deleteSandbox",
      method: "delete",
      path,
      tags,
      summary: "End a sandbox of E2B",
      request: { params },
      responses: done,
    },
    {
      operationId: "setSandboxTimeout",
      method: "post",
      path: `${path}/timeout`,
      tags,
      summary: "Let a sandbox of E2B end that long from now",
      request: { params, body: jsonBody(timeoutRequest.meta({ id: "E2bTimeout" }), { timeout: 300 }) },
      responses: done,
    },
    {
      operationId: "refreshSandbox",
      method: "post",
      path: `${path}/refreshes`,
      tags,
      summary: "Lengthen the life of a sandbox of E2B",
      request: {
        params,
        body: optionalJsonBody(refreshRequest.meta({ id: "E2bRefresh" }), { duration: 300 }),
      },
      responses: done,
    },
    {
      operationId: "getSandboxMetrics",
      method: "get",
      path: `${path}/metrics`,
      tags,
      summary: "Return the present metrics of a sandbox of E2B",
      request: { params },
      responses: {
        200: jsonResponse(
          z.array(z.looseObject({ timestamp: z.string(), cpuUsedPct: z.number() })),
          "One row",
          {
            example: [{ timestamp: STARTED, cpuUsedPct: 0 }],
          },
        ),
        ...errors,
      },
    },
    ...fileOperations(),
  ];
}

const fileQuery = z.object({ path: z.string().optional().meta({ example: "data.txt" }) });
const sandboxHeader = z.object({ "e2b-sandbox-id": z.string().optional().meta({ example: ID }) });

function fileOperations(): RouteConfig[] {
  const binary = { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } };
  const written = z.array(z.looseObject({ path: z.string(), name: z.string(), type: z.string() }));
  return [
    {
      operationId: "readSandboxFile",
      method: "get",
      path: "/files",
      tags,
      summary: "Read a file of a sandbox of E2B",
      request: { query: fileQuery, headers: sandboxHeader },
      responses: { 200: { description: "Contents of the file", content: binary }, ...inSandbox },
    },
    {
      operationId: "writeSandboxFiles",
      method: "post",
      path: "/files",
      tags,
      summary: "Write files into a sandbox of E2B, as a form or one as it is",
      request: {
        query: fileQuery,
        headers: sandboxHeader,
        body: {
          required: true,
          content: {
            ...binary,
            "multipart/form-data": { schema: z.object({ file: z.string().meta({ format: "binary" }) }) },
          },
        },
      },
      responses: {
        200: jsonResponse(written, "The files", {
          example: [{ name: "data.txt", path: "/home/user/data.txt", type: "file" }],
        }),
        ...inSandbox,
      },
    },
  ];
}
