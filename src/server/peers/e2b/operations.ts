import * as z from "zod";
import { jsonBody, jsonResponse, optionalJsonBody } from "../../v1/route.ts";
import { type ErrorFormat, errorsOf, operation, type PeerOperation } from "../operation.ts";
import { CODE_OPERATIONS } from "./code/code_operations.ts";
import {
  connection,
  connectRequest,
  createSandboxRequest,
  e2bError,
  forkRequest,
  pauseRequest,
  refreshRequest,
  sandboxInfo,
  sandboxMetric,
  sandboxQuery,
  snapshotInfo,
  snapshotQuery,
  snapshotRequest,
  timeoutRequest,
  writtenFile,
} from "./contract.ts";

const ID = "83ba8b1956db389061c6cb4ac33c20cb3d0c18c9406c002d";
const STARTED = "2026-01-01T12:00:00.000Z";

const CODE_ERROR: ErrorFormat = { schema: e2bError, example: { code: 404, message: "Sandbox 1 not found" } };
const errors = errorsOf(CODE_ERROR, [400, 401, 404, 429, 501, 504]);
const inSandbox = errorsOf(CODE_ERROR, [400, 401, 404, 409, 429, 502, 504]);
const stateErrors = errorsOf(CODE_ERROR, [400, 401, 404, 409, 413, 429, 501, 503, 504]);

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
const SNAPSHOT = {
  snapshotID: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  names: ["before-the-merge:default"],
};

const params = z.object({ id: z.string() });
const done = { 204: { description: "Done" }, ...errors };
const opened = (description: string) => jsonResponse(connection, description, { example: CONNECTION });
/** States of sandboxes that a server can keep. */
export interface SandboxStates {
  /** True if sandboxes can be paused. */
  readonly canPause: boolean;
  /** True if sandboxes can be copied, and kept as snapshots. */
  readonly canCopy: boolean;
}

/** Returns the operations of E2B. Old and new versions of the SDKs use other paths. */
export function e2bOperations({ canPause, canCopy }: SandboxStates): PeerOperation[] {
  return [
    ...CODE_OPERATIONS,
    ...["", "V2"].flatMap(versionedOperations),
    ...(canPause ? PAUSE_OPERATIONS : []),
    ...(canCopy ? COPY_OPERATIONS : []),
    ...SANDBOX_OPERATIONS,
    ...FILE_OPERATIONS,
  ];
}

function versionedOperations(version: string): PeerOperation[] {
  const path = `${version === "" ? "" : "/v2"}/sandboxes`;
  return [
    operation(`post ${path}`, {
      id: `createSandbox${version}`,
      summary: "Open a sandbox of E2B",
      body: optionalJsonBody(createSandboxRequest, { timeout: 300 }),
      responses: { 201: opened("The sandbox"), ...errors },
    }),
    operation(`get ${path}`, {
      id: `listSandboxes${version}`,
      summary: "List your sandboxes of E2B",
      query: sandboxQuery,
      responses: { 200: jsonResponse(z.array(sandboxInfo), "Newest first", { example: [INFO] }), ...errors },
    }),
    operation(`post ${path}/{id}/connect`, {
      id: `connectSandbox${version}`,
      summary: "Lengthen the life of a sandbox of E2B and get what its clients need",
      params,
      body: optionalJsonBody(connectRequest, { timeout: 300 }),
      responses: {
        200: opened("The sandbox"),
        201: opened("The sandbox, which was paused"),
        ...stateErrors,
      },
    }),
  ];
}

const PAUSE_OPERATIONS: readonly PeerOperation[] = [
  operation("post /sandboxes/{id}/pause", {
    id: "pauseSandbox",
    summary: "Pause a sandbox of E2B until it is resumed",
    params,
    body: optionalJsonBody(pauseRequest, {}),
    responses: { ...done, ...stateErrors },
  }),
  operation("post /sandboxes/{id}/resume", {
    id: "resumeSandbox",
    summary: "Resume a paused sandbox of E2B",
    params,
    body: optionalJsonBody(connectRequest, { timeout: 300 }),
    responses: { 201: opened("The sandbox"), ...stateErrors },
  }),
];

const FORK = {
  params,
  body: optionalJsonBody(forkRequest, { count: 2 }),
  responses: {
    201: jsonResponse(z.array(z.object({ sandbox: connection })), "The copies", {
      example: [{ sandbox: CONNECTION }],
    }),
    ...stateErrors,
  },
};

const COPY_OPERATIONS: readonly PeerOperation[] = [
  operation("post /sandboxes/{id}/fork", {
    id: "forkSandbox",
    summary: "Open copies of a sandbox of E2B, which may be paused, or of a snapshot",
    ...FORK,
  }),
  operation("post /snapshots/{id}/fork", {
    id: "forkSnapshot",
    summary: "Open copies of a snapshot of E2B, by its id or name",
    ...FORK,
  }),
  operation("post /sandboxes/{id}/snapshots", {
    id: "createSnapshot",
    summary: "Keep the state of a sandbox of E2B; new sandboxes start with it if it is their template",
    params,
    body: optionalJsonBody(snapshotRequest, {}),
    responses: { 201: jsonResponse(snapshotInfo, "The snapshot", { example: SNAPSHOT }), ...stateErrors },
  }),
  operation("get /snapshots", {
    id: "listSnapshots",
    summary: "List your snapshots of E2B",
    query: snapshotQuery,
    responses: {
      200: jsonResponse(z.array(snapshotInfo), "Newest first", { example: [SNAPSHOT] }),
      ...errors,
    },
  }),
  operation("delete /templates/{id}", {
    id: "deleteSnapshot",
    summary: "Delete a snapshot of E2B by its id or name",
    params,
    responses: done,
  }),
];

const SANDBOX_OPERATIONS: readonly PeerOperation[] = [
  operation("get /sandboxes/{id}", {
    id: "getSandbox",
    summary: "Get a sandbox of E2B",
    params,
    responses: { 200: jsonResponse(sandboxInfo, "The sandbox", { example: INFO }), ...errors },
  }),
  operation("delete /sandboxes/{id}", {
    id: "deleteSandbox",
    summary: "End a sandbox of E2B",
    params,
    responses: done,
  }),
  operation("post /sandboxes/{id}/timeout", {
    id: "setSandboxTimeout",
    summary: "Let a sandbox of E2B end that long from now",
    params,
    body: jsonBody(timeoutRequest, { timeout: 300 }),
    responses: done,
  }),
  operation("post /sandboxes/{id}/refreshes", {
    id: "refreshSandbox",
    summary: "Lengthen the life of a sandbox of E2B",
    params,
    body: optionalJsonBody(refreshRequest, { duration: 300 }),
    responses: done,
  }),
  operation("get /sandboxes/{id}/metrics", {
    id: "getSandboxMetrics",
    summary: "Return the present metrics of a sandbox of E2B",
    params,
    responses: {
      200: jsonResponse(z.array(sandboxMetric), "One row", {
        example: [{ timestamp: STARTED, cpuUsedPct: 0 }],
      }),
      ...errors,
    },
  }),
];

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
const binary = { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } };

const FILE_OPERATIONS: readonly PeerOperation[] = [
  operation("get /files", {
    id: "readSandboxFile",
    summary: "Read a file of a sandbox of E2B",
    query: fileQuery,
    headers: sandboxHeader,
    responses: { 200: { description: "Contents of the file", content: binary }, ...inSandbox },
  }),
  operation("post /files", {
    id: "writeSandboxFiles",
    summary: "Write files into a sandbox of E2B, as a form or one as it is",
    query: fileQuery,
    headers: sandboxHeader,
    body: {
      required: true,
      content: {
        ...binary,
        "multipart/form-data": { schema: z.object({ file: z.string().meta({ format: "binary" }) }) },
      },
    },
    responses: {
      200: jsonResponse(z.array(writtenFile), "The files", {
        example: [{ name: "data.txt", path: "/home/user/data.txt", type: "file" }],
      }),
      ...inSandbox,
    },
  }),
];
