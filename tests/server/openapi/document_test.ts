import { Validator } from "@cfworker/json-schema";
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { gsm8k } from "../../../mod.ts";
import type { RolloutOffer } from "../../../src/server/rollouts/rollout_service.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import { ROLLOUT_OPTIONS } from "../../../src/server/v1/examples.ts";
import { BranchingFakePool, ok } from "../../fake_pool.ts";
import { type Served, served } from "../served.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

/** An operation of the document, with its place. */
interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body: Json;
}

const METHODS = ["get", "post", "put", "patch", "delete"];
const graders = new Map([["gsm8k", () => gsm8k()]]);

async function documentOf(server: Served): Promise<Json> {
  return (await server.send("GET", "/openapi.json")).body;
}

function operationsOf(document: Json): Operation[] {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      body: item[method],
    }))
  );
}

/** Follows a reference of the document. */
function resolve(document: Json, value: Json): Json {
  const ref: string | undefined = value?.$ref;
  if (ref === undefined) return value;
  return ref.slice(2).split("/").reduce((parent, key) => parent[key], document);
}

/** Returns the errors of a value under a schema of the document. */
function errorsOf(document: Json, schema: Json, value: unknown): string[] {
  const root = { ...schema, components: document.components };
  const { errors } = new Validator(root, "2020-12").validate(value);
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

/** Returns the examples of a media type. */
function examplesOf(content: Json): unknown[] {
  if ("example" in content) return [content.example];
  return Object.values<Json>(content.examples ?? {}).map(({ value }) => value);
}

Deno.test("/openapi.json has every route of the server and no other one", async () => {
  for (
    const options of [{}, { pool: new BranchingFakePool(), hibernation: { store: new HibernationStore() } }]
  ) {
    await using server = served({ graders, ...options });
    await checkRoutes(server);
  }
});

async function checkRoutes(server: Served): Promise<void> {
  const document = await documentOf(server);
  const routes = server.app.routes
    .filter(({ path }) => !path.endsWith("/*"))
    .map(({ method, path }) => `${method} ${path.replace(/\/:(\w+)/g, "/{$1}")}`);
  assertEquals(operationsOf(document).map(({ name }) => name).sort(), [...new Set(routes)].sort());
}

Deno.test("each operation has an id, a known tag, a summary and its error responses", async () => {
  await using server = served({ graders });
  const document = await documentOf(server);
  const tags = document.tags.map(({ name }: { name: string }) => name);
  const operations = operationsOf(document);
  const ids = operations.map(({ body }) => body.operationId);
  assertEquals(new Set(ids).size, ids.length);
  for (const { name, path, body } of operations) {
    assertMatch(body.operationId ?? "", /^[a-z]+([A-Z][a-z0-9]*)*$/, name);
    assert(body.summary, name);
    assert(body.tags?.length > 0 && body.tags.every((tag: string) => tags.includes(tag)), name);
    const statuses = Object.keys(body.responses);
    for (const status of ["400", "403", "413", "429", "431", "500", "503"]) {
      assert(statuses.includes(status), `${name} lacks ${status}`);
    }
    const isOpen = body.security?.length === 0;
    assertEquals(statuses.includes("401"), !isOpen, name);
    if (body.requestBody) assert(statuses.includes("408") && statuses.includes("415"), name);
    if (path.startsWith("/v1/") && body.requestBody) assert(statuses.includes("422"), name);
    if (path.startsWith("/v1/") && path.includes("{id}")) assert(statuses.includes("404"), name);
    for (const status of statuses.filter((status) => /^[45]/.test(status))) {
      const response = resolve(document, body.responses[status]);
      assert(response.content, `${name} ${status} has no body`);
    }
  }
  assertNotEquals(document.servers, []);
  assertEquals(Object.keys(document.components.securitySchemes), ["bearerToken", "accessToken", "apiKey"]);
});

Deno.test("each JSON body of the document has examples that its schema accepts", async () => {
  await using server = served({ graders });
  const document = await documentOf(server);
  for (const { name, body } of operationsOf(document)) {
    const bodies = [body.requestBody, ...Object.values<Json>(body.responses)]
      .map((value) => resolve(document, value))
      .filter((value) => value?.content?.["application/json"]);
    for (const { content: { "application/json": json } } of bodies) {
      const examples = examplesOf(json);
      assert(examples.length > 0, `${name} has a body without an example`);
      for (const example of examples) assertEquals(errorsOf(document, json.schema, example), [], name);
    }
  }
});

Deno.test("the document says which routes need a token, and a server without tokens needs none", async () => {
  const [first] = ["a token of sixteen"];
  await using server = served({ graders, tokens: [first ?? ""] });
  const document = await documentOf(server);
  assertEquals(document.security, [{ bearerToken: [] }, { accessToken: [] }, { apiKey: [] }]);
  for (const { name, method, path, body } of operationsOf(document)) {
    const { status } = await server.send(method, path.replace(/\{file\}/, "start.js"));
    const expected = body.security?.length === 0 ? "no 401" : "401";
    assertEquals(status === 401 ? "401" : "no 401", expected, name);
  }
  await using open = served({ graders });
  assertEquals((await documentOf(open)).security[0], {});
});

Deno.test("keys that a request may omit are optional in the document", async () => {
  await using server = served({ graders });
  const document = await documentOf(server);
  const { schemas } = document.components;
  assertEquals(JSON.stringify(document).includes('"default":'), false); // generators make such keys required
  assertEquals(schemas.CreateRollout.properties.samples.description.endsWith("; default: 1"), true);
  const required = (name: string) => schemas[name].required ?? [];
  assertEquals(required("GradeRequest"), ["grader"]);
  assertEquals(schemas.GradeRequest.properties.task.required ?? [], []);
  assertEquals(required("ExecRequest"), ["code"]);
  assertEquals(required("CreateEnv"), []);
  assertEquals(required("Task"), ["query"]);
  assertEquals(required("FusionRunRequest"), ["code"]);
  assertEquals(required("FusionJupyterRequest"), ["cells"]);
  assertEquals(required("NemoExecuteRequest"), ["generated_code"]);
  assertEquals(required("E2bExecuteRequest"), ["code"]);
  assertEquals(required("OpenR1BatchRequest"), ["scripts", "languages"]);
  assertEquals(required("OpenEnvStep"), ["action"]);
});

Deno.test("no named schema of the document accepts null, as some of its uses do not", async () => {
  await using server = served({ graders });
  const { components: { schemas } } = await documentOf(server);
  const nullable = Object.entries<Json>(schemas).filter(([, { type }]) => [type].flat().includes("null"));
  assertEquals(nullable.map(([name]) => name), []);
});

/** Allows the rollout of the example. */
const offer: RolloutOffer = {
  policies: new Map([[ROLLOUT_OPTIONS.policy, () => ({ reply: () => Promise.resolve("42") })]]),
  envs: ["python"],
};

/** Operations that {@linkcode checkResponse} cannot send, and why. */
const NOT_SENT: Readonly<Record<string, string>> = {
  openMcpStream: "the stream does not end",
  openEpisodeSocket: "it needs a socket",
  readSandboxFile: "it needs Python",
  writeSandboxFiles: "it needs Python, and its body is no JSON",
};

Deno.test("each operation responds to its example as the document says", async () => {
  const python = () => ok("42\n", { value: "42" });
  await using server = served({ graders, maxSessions: 80, python, offer });
  const document = await documentOf(server);
  for (const operation of operationsOf(document)) {
    if (operation.body.operationId in NOT_SENT) continue;
    await checkResponse(server, { document, operation });
  }
});

/** Sends an example and checks the response. */
async function checkResponse(
  server: Served,
  { document, operation: { name, method, path, body } }: { document: Json; operation: Operation },
): Promise<void> {
  const opener = openerOf(path);
  const options = document.paths[opener].post.requestBody.content["application/json"].example;
  const { status: created, body: opened } = await server.send("POST", opener, options);
  assert(created === 200 || created === 201, name);
  if (path.startsWith("/v1/envs/")) {
    await server.send("POST", `/v1/envs/${opened.id}/reset`, {});
  }
  const url = path.replace("{id}", opened.id ?? opened.sandboxID).replace("{file}", "start.js").replace(
    "{name}",
    "none",
  )
    .replace("{callId}", "call_1").replace("{family}", "graph-paths");
  const query = url.endsWith("/file") ? "?path=data.txt" : "";
  const content = body.requestBody?.content["application/json"];
  const [example] = content ? examplesOf(content) : [];
  if (query !== "") await server.send("POST", `${url}s`, { files: { "data.txt": "MSAyIDMK" } });
  const response = await server.send(method, url + query, example, {
    accept: path === "/mcp" ? "application/json, text/event-stream" : "application/json",
  });
  const documented = resolve(document, body.responses[String(response.status)]);
  assert(documented, `${name} has no response ${response.status}: ${JSON.stringify(response.body)}`);
  const isExpected = response.status < 400 || EXPECTED_FAILURES.includes(body.operationId);
  assert(isExpected, `${name}: ${response.status} ${JSON.stringify(response.body)}`);
  const type = response.headers.get("content-type")?.split(";")[0];
  if (type === undefined || documented.content === undefined) return;
  const schema = documented.content[type]?.schema;
  assert(schema, `${name} has no body of type ${type}`);
  assertEquals(errorsOf(document, schema, response.body), [], name);
}

/** Operations whose example fails on a server that has just started or has no shell. */
const EXPECTED_FAILURES = [
  "resumeExec",
  "answerCall",
  "answerEnvCall",
  "cancelRequest",
  "runShellCommand",
  "answerRolloutCall",
  "setRolloutTaken",
  "setRolloutVersion",
  "stopRollout",
  "listFiles",
  "makeDirectory",
  "removeFile",
  "deleteNemoSession",
  "endMcpSession",
];

/** Returns the route that opens what the path's id names. */
function openerOf(path: string): string {
  if (path.startsWith("/v1/envs")) return "/v1/envs";
  if (path.startsWith("/v1/rollouts")) return "/v1/rollouts";
  if (/^(\/v2)?\/sandboxes/.test(path)) return "/sandboxes";
  return path.startsWith("/contexts") ? "/contexts" : "/v1/sessions";
}

Deno.test("the document describes how sessions recover", async () => {
  await using server = served();
  const document = await documentOf(server);
  const { CreateSession, Session, ExecResult, ShellResult, RestoredFrom } = document.components.schemas;
  for (const { properties: { checkpointEvery } } of [CreateSession, Session]) {
    for (const every of ["exec", 0.5, 86_400]) assertEquals(errorsOf(document, checkpointEvery, every), []);
    for (const every of ["block", 0, 86_401, null]) {
      assertNotEquals(errorsOf(document, checkpointEvery, every), []);
    }
  }
  assertEquals(Object.keys(RestoredFrom.properties), ["lostCalls", "ageMs"]);
  for (const { properties: { restoredFrom } } of [ExecResult, ShellResult]) {
    assertEquals(errorsOf(document, restoredFrom, { lostCalls: 0, ageMs: 1.5 }), []);
    assertNotEquals(errorsOf(document, restoredFrom, { lostCalls: -1, ageMs: 1 }), []);
  }
});
