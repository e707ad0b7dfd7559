import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import { createSandboxRequest, refreshRequest, timeoutRequest } from "../control.ts";
import { forkRequest } from "../forks.ts";
import { snapshotRequest } from "../snapshots.ts";
import { connectRequest, pauseRequest } from "../states.ts";
import { jsonBody, jsonResponse, optionalJsonBody } from "../../../v1/route.ts";
import { type ErrorFormat, errorsOf } from "../../error_format.ts";

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
  envdAccessToken: z.string(),
  trafficAccessToken: z.string(),
}).meta({ id: "E2bSandbox" });
const info = identity.extend({
  startedAt: z.string(),
  endAt: z.string(),
  state: z.enum(["running", "paused"]),
  cpuCount: z.int(),
  memoryMB: z.int(),
  diskSizeMB: z.int(),
  metadata: z.record(z.string(), z.string()),
  envdAccessToken: z.string().optional(),
}).meta({ id: "E2bSandboxInfo" });

const SANDBOX = { sandboxID: ID, templateID: "base", clientID: "paddock", envdVersion: "0.6.4" };
const TOKEN = `sbx_${"0123456789abcdef".repeat(4)}`;
const CONNECTION = { ...SANDBOX, domain: null, envdAccessToken: TOKEN, trafficAccessToken: TOKEN };
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
const snapshot = z.object({ snapshotID: z.string(), names: z.array(z.string()) }).meta({ id: "E2bSnapshot" });
const SNAPSHOT = {
  snapshotID: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  names: ["before-the-merge:default"],
};
const stateErrors = errorsOf(CODE_ERROR, [400, 401, 404, 409, 413, 429, 501, 503, 504]);
const listQuery = z.object({
  state: z.string().optional().meta({ example: "running,paused" }),
  metadata: z.string().optional().meta({ example: "user=ada" }),
  limit: z.int().min(1).optional(),
});
const snapshotQuery = z.object({
  sandboxID: z.string().optional().meta({ example: ID }),
  name: z.string().optional().meta({ example: "before-the-merge" }),
  limit: z.int().min(1).optional(),
});

/** States of sandboxes that a server can keep. */
export interface SandboxStates {
  /** True if sandboxes can be paused. */
  readonly canPause: boolean;
  /** True if they can be copied, and kept as snapshots. */
  readonly canCopy: boolean;
}

/** Returns the operations of E2B's sandboxes and their files. Old and new versions of the SDKs use other paths. */
export function e2bSandboxOperations({ canPause, canCopy }: SandboxStates): RouteConfig[] {
  return [
    ...["", "V2"].flatMap(versionedOperations),
    ...(canPause ? pauseOperations() : []),
    ...(canCopy ? copyOperations() : []),
    ...sandboxOperations(),
  ];
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
      responses: {
        ...connected,
        201: jsonResponse(connection, "The sandbox, which was paused", { example: CONNECTION }),
        ...stateErrors,
      },
    },
  ];
}

function pauseOperations(): RouteConfig[] {
  const path = "/sandboxes/{id}";
  return [
    {
      operationId: "pauseSandbox",
      method: "post",
      path: `${path}/pause`,
      tags,
      summary: "Pause a sandbox of E2B until it is resumed",
      request: { params, body: optionalJsonBody(pauseRequest.meta({ id: "E2bPause" }), {}) },
      responses: { ...done, ...stateErrors },
    },
    {
      operationId: "resumeSandbox",
      method: "post",
      path: `${path}/resume`,
      tags,
      summary: "Resume a paused sandbox of E2B",
      request: {
        params,
        body: optionalJsonBody(connectRequest.meta({ id: "E2bConnectSandbox" }), { timeout: 300 }),
      },
      responses: { 201: jsonResponse(connection, "The sandbox", { example: CONNECTION }), ...stateErrors },
    },
  ];
}

function copyOperations(): RouteConfig[] {
  const path = "/sandboxes/{id}";
  const forkBody = optionalJsonBody(forkRequest.meta({ id: "E2bFork" }), { count: 2 });
  const copies = {
    201: jsonResponse(z.array(z.object({ sandbox: connection })), "The copies", {
      example: [{ sandbox: CONNECTION }],
    }),
  };
  return [
    {
      operationId: "forkSandbox",
      method: "post",
      path: `${path}/fork`,
      tags,
      summary: "Open copies of a sandbox of E2B, which may be paused, or of a snapshot",
      request: { params, body: forkBody },
      responses: { ...copies, ...stateErrors },
    },
    {
      operationId: "forkSnapshot",
      method: "post",
      path: "/snapshots/{id}/fork",
      tags,
      summary: "Open copies of a snapshot of E2B, by its id or name",
      request: { params, body: forkBody },
      responses: { ...copies, ...stateErrors },
    },
    {
      operationId: "createSnapshot",
      method: "post",
      path: `${path}/snapshots`,
      tags,
      summary: "Keep the state of a sandbox of E2B; new sandboxes start with it if it is their template",
      request: { params, body: optionalJsonBody(snapshotRequest.meta({ id: "E2bSnapshotRequest" }), {}) },
      responses: { 201: jsonResponse(snapshot, "The snapshot", { example: SNAPSHOT }), ...stateErrors },
    },
    {
      operationId: "listSnapshots",
      method: "get",
      path: "/snapshots",
      tags,
      summary: "List your snapshots of E2B",
      request: { query: snapshotQuery },
      responses: {
        200: jsonResponse(z.array(snapshot), "Newest first", { example: [SNAPSHOT] }),
        ...errors,
      },
    },
    {
      operationId: "deleteSnapshot",
      method: "delete",
      path: "/templates/{id}",
      tags,
      summary: "Delete a snapshot of E2B by its id or name",
      request: { params },
      responses: done,
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

const fileQuery = z.object({
  path: z.string().optional().meta({ example: "data.txt" }),
  username: z.string().optional().meta({ description: "`root`, whose home directory is `/root`, or `user`" }),
  signature: z.string().optional().meta({
    description: "Signature of the URL by a client of the sandbox, in place of a token",
  }),
  signature_expiration: z.int().optional().meta({
    description: "Seconds since 1970 after which the signature is void",
  }),
});
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
