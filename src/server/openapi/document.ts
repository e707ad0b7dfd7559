import * as z from "zod";
import { PADDOCK_VERSION } from "../../version.ts";
import { type ErrorCode, HTTP_STATUS } from "../../wire/error_codes.ts";
import { MAX_REQUEST_ID_CHARACTERS } from "../../wire/limits.ts";
import { failureSchema, V1_FORMAT, V1_FORMAT_HEADER } from "../../wire/v1.ts";
import { isOpenPath } from "../http/access.ts";
import type { Peer } from "../peers/peer.ts";
import { type Api, failureName, failureRef, isStreamPath } from "../v1/route.ts";

/** An OpenAPI document. */
export type OpenApiDocument = ReturnType<Api["getOpenAPI31Document"]>;
/** An operation of an OpenAPI document. */
export type Operation = NonNullable<NonNullable<OpenApiDocument["paths"]>[string]["get"]>;

type SchemaObject = Extract<
  NonNullable<NonNullable<OpenApiDocument["components"]>["schemas"]>[string],
  { type?: unknown }
>;

/** Options of {@linkcode makeDocument}. */
export interface DocumentOptions {
  /** True if requests need a token. */
  readonly hasTokens: boolean;
  /** Groups of the peers' operations. */
  readonly groups: readonly Pick<Peer, "name" | "description">[];
}

const DESCRIPTION =
  `Sandboxed Python for reinforcement learning: sessions, episodes and grades under \`/v1\`, and \
the routes of compatible systems. Errors of \`/v1\` have a \`type\` and a \`message\`.`;

/** Groups of operations, with their descriptions. Groups of peers follow. */
const TAGS = {
  sessions: "Python sessions: programs, shell commands and batches",
  files: "Files of a session",
  checkpoints: "States of sessions, which can be kept, restored, forked, exported and imported",
  envs: "Episodes: reset an env, then step it with replies",
  rollouts: "Episodes that the server plays with a policy",
  grade: "Scores of conversations",
  requests: "Requests with an id",
  server: "The server itself: health, metrics and this document",
  mcp: "Model Context Protocol",
} as const;

/** Messages of the examples of errors. */
const FAILURES: Readonly<Record<Exclude<ErrorCode, "method_not_allowed">, string>> = {
  malformed: "The body must be JSON",
  unauthorized: "A token is required: send the header 'Authorization: Bearer …'",
  forbidden: "The server does not accept this host name",
  not_found: "There is no such session",
  too_slow: "The body must arrive within 30000 ms",
  conflict: "The session has ended",
  too_large: "A body must have at most 33554432 bytes",
  unsupported: "The body must be JSON: send the header 'content-type: application/json'",
  invalid: "code: must be a string: found 5",
  busy: "All sessions are in use",
  headers_too_large: "Headers must have at most 16384 bytes",
  internal: "The server failed: see its log",
  unavailable: "The sandbox failed",
  timeout: "No session was free within 30000 ms: retry later",
};
/** Errors whose response says when to retry. */
const RETRIED: readonly ErrorCode[] = ["busy", "unavailable", "timeout"];
/** Errors that any request can have before its route runs. */
const ANY: readonly ErrorCode[] = [
  "malformed",
  "forbidden",
  "too_large",
  "busy",
  "headers_too_large",
  "internal",
  "unavailable",
];
const METHODS = ["get", "post", "put", "patch", "delete"] as const;
const REQUEST_ID = "RequestId";

/** Declares what all operations share: the error responses, the tokens and the id of a request. */
export function addComponents(app: Api): void {
  const registry = app.openAPIRegistry;
  const { $schema: _, ...failure } = z.toJSONSchema(z.object(failureSchema.shape), { io: "input" });
  registry.registerComponent("schemas", "Failure", failure as SchemaObject);
  for (const [code, message] of Object.entries(FAILURES) as [keyof typeof FAILURES, string][]) {
    registry.registerComponent("responses", failureName(code), {
      description: `The error \`${code}\``,
      headers: headersOf(code),
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/Failure" },
          example: { error: { type: code, message } },
        },
      },
    });
  }
  registry.registerComponent("headers", "Format", {
    description: "Version of the JSON of `/v1`",
    schema: { type: "string", enum: [String(V1_FORMAT)] },
  });
  registry.registerComponent("parameters", REQUEST_ID, {
    name: "X-Request-ID",
    in: "header",
    description: "A repeated request with the same id gets the first response and runs nothing",
    schema: { type: "string", maxLength: MAX_REQUEST_ID_CHARACTERS },
  });
  registry.registerComponent("securitySchemes", "bearerToken", { type: "http", scheme: "bearer" });
  registry.registerComponent("securitySchemes", "accessToken", {
    type: "apiKey",
    in: "header",
    name: "X-Access-Token",
  });
  registry.registerComponent("securitySchemes", "apiKey", {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
  });
}

function headersOf(code: ErrorCode): Record<string, { description: string; schema: SchemaObject }> {
  if (code === "unauthorized") {
    return { "WWW-Authenticate": { description: "The scheme `Bearer`", schema: { type: "string" } } };
  }
  if (!RETRIED.includes(code)) return {};
  return { "Retry-After": { description: "Seconds until a retry", schema: { type: "integer", minimum: 0 } } };
}

/** Returns the document of a server's API. Its routes must be registered. */
export function makeDocument(app: Api, { hasTokens, groups }: DocumentOptions): OpenApiDocument {
  const tokens = [{ bearerToken: [] }, { accessToken: [] }, { apiKey: [] }];
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Paddock",
      version: PADDOCK_VERSION,
      description: DESCRIPTION,
    },
    servers: [
      { url: "/", description: "The server of this document" },
      { url: "http://127.0.0.1:8471", description: "The default address of `paddock serve`" },
    ],
    tags: [
      ...Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      ...groups.map(({ name, description }) => ({ name, description })),
    ],
    security: hasTokens ? tokens : [{}, ...tokens],
  });
  document.info.license = { name: "MIT", identifier: "MIT" };
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const method of METHODS) {
      const operation = item[method];
      if (operation !== undefined) completeOperation(operation, { method, path });
    }
  }
  describeDefaults(document);
  return document;
}

/**
 * Moves the defaults of keys and parameters into the descriptions. Generators such as openapi-typescript make a key with
 * a default required, in requests too.
 */
function describeDefaults(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const child of Object.values(value)) describeDefaults(child);
  if ("in" in value && "schema" in value) describeDefault(value.schema as Described);
  if (!("properties" in value) || typeof value.properties !== "object" || value.properties === null) return;
  for (const property of Object.values(value.properties)) describeDefault(property);
}

type Described = { default?: unknown; description?: string };

function describeDefault(schema: Described): void {
  if (schema.default === undefined) return;
  const text = `default: ${JSON.stringify(schema.default)}`;
  schema.description = schema.description === undefined ? text : `${schema.description}; ${text}`;
  delete schema.default;
}

/** Adds what the server does for every route: its errors, its headers and the check of the token. */
function completeOperation(
  operation: Operation,
  { method, path }: { method: string; path: string },
): void {
  const { responses = {} } = operation;
  const isV1 = path.startsWith("/v1/");
  for (const code of ANY) addFailure(responses, code);
  if (method === "get" && isOpenPath(path)) operation.security = [];
  else addFailure(responses, "unauthorized");
  if (isV1 && (operation.requestBody || operation.parameters)) addFailure(responses, "invalid");
  if (operation.requestBody) {
    addFailure(responses, "too_slow");
    addFailure(responses, "unsupported");
  }
  if (isV1 && method === "post" && !isStreamPath(path)) {
    const parameter = { $ref: `#/components/parameters/${REQUEST_ID}` };
    operation.parameters = [...operation.parameters ?? [], parameter];
    addFailure(responses, "invalid");
    addFailure(responses, "conflict");
  }
  for (const [status, response] of Object.entries(responses)) {
    if (!isV1 || !status.startsWith("2")) continue;
    response.headers = { ...response.headers, [V1_FORMAT_HEADER]: { $ref: "#/components/headers/Format" } };
  }
}

/** Adds the error of `/v1` to the responses. A system with the same status has its own error as well. */
function addFailure(responses: NonNullable<Operation["responses"]>, code: ErrorCode): void {
  const status = HTTP_STATUS[code];
  const own = responses[status];
  if (own === undefined) {
    responses[status] = { $ref: failureRef(code) };
    return;
  }
  const json = own.content?.["application/json"];
  if (json === undefined) return;
  json.schema = { anyOf: [json.schema, { $ref: "#/components/schemas/Failure" }] };
  own.headers = { ...own.headers, ...headersOf(code) };
}
