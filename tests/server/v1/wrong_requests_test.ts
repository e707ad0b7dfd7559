import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Served, served, type TestResponse } from "../served.ts";

const [OWN, FOREIGN] = ["a-token-of-one-owner", "a-token-of-another"];
const own = { authorization: `Bearer ${OWN}` };

/** A wrong request, and the status, the type and the message of its response. */
interface WrongRequest {
  readonly name: string;
  /** Sends it. `id` is a session of the owner. */
  send(server: Served, id: string): Promise<TestResponse>;
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

function post(path: string, body: unknown, headers: Record<string, string> = own): WrongRequest["send"] {
  return (server, id) => server.send("POST", path.replace("ID", id), body, headers);
}

const WRONG: readonly WrongRequest[] = [
  {
    name: "malformed JSON",
    send: post("/v1/exec", '{"code": "1"'),
    status: 400,
    type: "malformed",
    message: "The body must be JSON",
  },
  {
    name: "a wrong type",
    send: post("/v1/exec", { code: 5 }),
    status: 422,
    type: "invalid",
    message: "code: must be a string: found 5",
  },
  {
    name: "an unknown field",
    send: post("/v1/exec", { code: "1", timeout: 5 }),
    status: 422,
    type: "invalid",
    message: "the request: unknown key 'timeout'",
  },
  {
    name: "a missing field",
    send: post("/v1/exec", {}),
    status: 422,
    type: "invalid",
    message: "code: must be a string: it is missing",
  },
  {
    name: "a body that is too large",
    send: post("/v1/exec", { code: "x".repeat(20_000) }),
    status: 413,
    type: "too_large",
    message: "A body must have at most 10000 bytes",
  },
  {
    name: "a wrong content type",
    send: post("/v1/exec", "code=1", { ...own, "content-type": "application/x-www-form-urlencoded" }),
    status: 415,
    type: "unsupported",
    message: "The body must be JSON: send the header 'content-type: application/json'",
  },
  {
    name: "a wrong token",
    send: post("/v1/exec", { code: "1" }, { authorization: "Bearer wrong" }),
    status: 401,
    type: "unauthorized",
    message: "The token is not one of the server's",
  },
  {
    name: "no token",
    send: post("/v1/exec", { code: "1" }, {}),
    status: 401,
    type: "unauthorized",
    message: "A token is required: send the header 'Authorization: Bearer …'",
  },
  {
    name: "an unknown session",
    send: post("/v1/sessions/none/exec", { code: "1" }),
    status: 404,
    type: "not_found",
    message: "There is no such session",
  },
  {
    name: "a foreign session",
    send: post("/v1/sessions/ID/exec", { code: "1" }, { authorization: `Bearer ${FOREIGN}` }),
    status: 404,
    type: "not_found",
    message: "There is no such session",
  },
  {
    name: "a wrong method",
    send: (server) => server.send("PUT", "/v1/sessions", {}, own),
    status: 405,
    type: "method_not_allowed",
    message: "There is no route PUT /v1/sessions: the path has GET, POST",
  },
  {
    name: "a bad query",
    send: (server, id) =>
      server.send("DELETE", `/v1/sessions/${id}/files?path=a&recursive=yes`, undefined, own),
    status: 422,
    type: "invalid",
    message: "recursive: must be one of 'true', 'false': found a string",
  },
  {
    name: "a bad path",
    send: (server, id) => server.send("GET", `/v1/sessions/${id}/files?path=../etc`, undefined, own),
    status: 422,
    type: "invalid",
    message: "Cannot use path as it must be relative and stay under the working directory: current value is",
  },
  {
    name: "too many requests",
    send: post("/v1/sessions", {}),
    status: 429,
    type: "busy",
    message: "No session is free as a token may hold 1 of 2",
  },
  {
    name: "an ended session",
    send: async (server, id) => {
      await server.send("DELETE", `/v1/sessions/${id}`, undefined, own);
      return await server.send("POST", `/v1/sessions/${id}/exec`, { code: "1" }, own);
    },
    status: 404,
    type: "not_found",
    message: "There is no such session",
  },
];

for (const { name, send, status, type, message } of WRONG) {
  Deno.test(`/v1 refuses ${name} in one line with ${status}`, async () => {
    await using server = served({
      tokens: [OWN, FOREIGN],
      limits: { bodyBytes: 10_000 },
      queue: 0,
      maxSessions: 2,
      maxSessionsPerToken: 1,
    });
    const { body: { id } } = await server.send("POST", "/v1/sessions", {}, own);
    const response = await send(server, id);
    assertEquals([response.status, response.body.error?.type], [status, type], JSON.stringify(response.body));
    assertStringIncludes(response.body.error.message, message);
    assert(response.body.error.message.length < 300 && !/[\n\r]/.test(response.body.error.message));
    assertEquals(response.headers.has("allow"), status === 405);
    assertEquals(response.headers.has("retry-after"), status === 429);
    assertEquals(response.headers.has("www-authenticate"), status === 401);
    assertEquals(server.errors, []);
  });
}

Deno.test("each route, compatible ones too, answers another method with 405 and its methods", async () => {
  await using server = served();
  const { body: document } = await server.send("GET", "/openapi.json");
  for (const [path, item] of Object.entries<Record<string, unknown>>(document.paths)) {
    const url = path.replaceAll(/\{\w+\}/g, "x");
    const methods = ["get", "post", "delete"].filter((method) => method in item).map((name) =>
      name.toUpperCase()
    );
    for (const method of ["PUT", "PATCH", "OPTIONS"]) {
      const { status, headers } = await server.send(method, url);
      assertEquals(
        [status, headers.get("allow")?.split(", ").sort()],
        [405, methods.sort()],
        `${method} ${url}`,
      );
    }
  }
});
