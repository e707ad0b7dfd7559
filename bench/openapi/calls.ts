/** A document of `/openapi.json`, as JSON. */
// deno-lint-ignore no-explicit-any -- the generators check it
export type Document = any;

/** A request that a call needs before. */
export interface Fixture {
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where the response has the id for the call's path: a key of the body, a header, or the given text. */
  readonly id: { readonly key: string } | { readonly header: string } | { readonly text: string };
  /** Requests with the id in their paths, before the call. */
  readonly then?: readonly { readonly path: string; readonly body: unknown }[];
}

/** A call of an operation by a generated client. */
export interface Call {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  /** Name of the path's parameter that has the fixture's id. */
  readonly idName?: string;
  /** Name of the header that has the fixture's id. */
  readonly idHeader?: string;
  readonly fixture?: Fixture;
  readonly pathParams: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Media types of the response that succeeds. */
  readonly types: readonly string[];
  /** Statuses with which the server must respond. */
  readonly statuses: readonly number[];
}

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Statuses of operations that do not succeed without more than their example. */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  answerCall: [404], // no program calls a tool
  answerEnvCall: [404],
  cancelRequest: [404], // no such request runs
  openMcpStream: [406], // a client that does not accept events
  openEpisodeSocket: [426], // no handshake
  readSandboxFile: [404], // a new sandbox has no files
  startRollout: [403], // the server allows no policy
  answerRolloutCall: [404], // no rollout runs
  setRolloutTaken: [404],
  setRolloutVersion: [404],
  stopRollout: [404],
  redirectToDocs: [200, 302], // some clients follow it
};

/** Bodies that replace the examples. */
const BODIES: Readonly<Record<string, unknown>> = {
  createSession: { seed: 7 }, // the profile with a shell has no tools of the client
  sendMcpMessage: { jsonrpc: "2.0", id: 1, method: "tools/list" }, // as OpenEnv's clients do, who accept JSON
};

/**
 * Returns a call of every operation of the document whose body, if it has one, is JSON. The SDKs of E2B call the
 * operation that takes files, as the generated clients differ in what they take.
 */
export function callsOf(document: Document): Call[] {
  return Object.entries<Document>(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item && takesJson(item[method]))
      .map((method) => callOf(document, { path, method }))
  );
}

/** Returns true if an operation takes JSON or no body. */
export function takesJson({ requestBody }: Document): boolean {
  return requestBody === undefined || "application/json" in requestBody.content;
}

function callOf(document: Document, { path, method }: { path: string; method: string }): Call {
  const operation = document.paths[path][method];
  const { operationId } = operation;
  const parameters: Document[] = (operation.parameters ?? []).filter(({ $ref }: Document) =>
    $ref === undefined
  );
  const examples = (place: string) =>
    Object.fromEntries(
      parameters.filter((parameter) => parameter.in === place && exampleOf(parameter) !== undefined)
        .map((parameter) => [parameter.name, exampleOf(parameter)]),
    );
  const fixture = fixtureOf(path, document);
  const idName = parameters.find((parameter) =>
    parameter.in === "path" && exampleOf(parameter) === undefined
  );
  const json = operation.requestBody?.content?.["application/json"];
  const body = BODIES[operationId] ?? json?.example ??
    Object.values<Document>(json?.examples ?? {})[0]?.value;
  return {
    operationId,
    method: method.toUpperCase(),
    path,
    tag: operation.tags[0],
    ...(idName && { idName: idName.name }),
    ...(path === "/mcp" && method === "delete" && { idHeader: "Mcp-Session-Id" }),
    ...(path === "/files" && { idHeader: "e2b-sandbox-id" }),
    ...(fixture && { fixture }),
    pathParams: examples("path"),
    query: examples("query"),
    ...(body !== undefined && { body }),
    types: Object.keys(operation.responses["200"]?.content ?? {}),
    statuses: STATUSES[operationId] ??
      Object.keys(operation.responses).map(Number).filter((status) => status < 300),
  };
}

function exampleOf({ example, schema }: Document): unknown {
  return example ?? schema?.example;
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "smoke", version: "1" } },
};

/** Returns the request that makes what the path names. */
function fixtureOf(path: string, document: Document): Fixture | undefined {
  const example = (opener: string) =>
    document.paths[opener].post.requestBody.content["application/json"].example;
  if (path.startsWith("/v1/sessions/{")) {
    const files = { path: "/v1/sessions/{id}/files", body: { files: { "data.txt": "MSAyIDMK" } } };
    return { path: "/v1/sessions", body: {}, id: { key: "id" }, then: [files] };
  }
  if (path.startsWith("/v1/envs/{")) {
    const reset = { path: "/v1/envs/{id}/reset", body: {} };
    return { path: "/v1/envs", body: example("/v1/envs"), id: { key: "id" }, then: [reset] };
  }
  if (/^\/v1\/(requests|rollouts)\/\{/.test(path)) {
    return { path: "/v1/grade", body: example("/v1/grade"), id: { text: "none" } };
  }
  if (path === "/files" || /^(\/v2)?\/sandboxes\/\{/.test(path)) {
    return { path: "/sandboxes", body: { timeout: 300 }, id: { key: "sandboxID" } };
  }
  if (path.startsWith("/contexts/{")) return { path: "/contexts", body: {}, id: { key: "id" } };
  if (path.startsWith("/sessions/{")) {
    const body = { generated_code: "1", language: "ipython" };
    return { path: "/execute", body, headers: { "x-session-id": "smoke" }, id: { text: "smoke" } };
  }
  if (path !== "/mcp") return undefined;
  const accept = "application/json, text/event-stream";
  return { path, body: INITIALIZE, headers: { accept }, id: { header: "mcp-session-id" } };
}
