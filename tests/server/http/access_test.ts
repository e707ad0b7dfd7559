import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { WrongTokens } from "../../../src/server/http/access.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { served } from "../served.ts";

const tokens = ["first-token", "second-token"];

Deno.test("a server with tokens refuses requests without a valid token", async () => {
  await using server = served({ tokens });
  const statuses = [];
  const given = ["", "Bearer ", "Bearer nope", "Basic first-token", "Bearer first-token2"];
  for (const authorization of given) {
    statuses.push((await server.send("GET", "/v1/sessions", undefined, { authorization })).status);
  }
  assertEquals(statuses, [401, 401, 401, 401, 401]);
  const refused = await server.send("GET", "/metrics");
  assertEquals([refused.status, refused.headers.get("www-authenticate")], [401, "Bearer"]);
  assertEquals((await server.send("GET", "/v1/health")).status, 200);
});

Deno.test("a server accepts a token in each header of the supported systems", async () => {
  await using server = served({ tokens });
  const headers = [
    { authorization: "Bearer first-token" },
    { "x-access-token": "second-token" },
    { "x-api-key": "first-token" },
  ];
  for (const header of headers) {
    assertEquals((await server.send("GET", "/v1/sessions", undefined, header)).status, 200);
  }
});

Deno.test("WrongTokens.delay() delays an address after five wrong tokens, and only a bounded number at once", async () => {
  const wrong = new WrongTokens();
  const stop = new AbortController();
  const stopped = new DOMException("stopped", "AbortError");
  for (let count = 0; count < 5; count++) await wrong.delay("10.0.0.1", AbortSignal.abort(stopped));
  const waits = Array.from({ length: 256 }, () => wrong.delay("10.0.0.1", stop.signal));
  const outcomes = Promise.allSettled(waits);
  await assertRejects(() => wrong.delay("10.0.0.1"), ServerError, "Too many wrong tokens");
  await wrong.delay("10.0.0.2", AbortSignal.abort(stopped)); // another address is not delayed
  stop.abort(stopped);
  assertEquals(new Set((await outcomes).map(({ status }) => status)), new Set(["rejected"]));
});

Deno.test("each response, refusals too, forbids pages of other sites to read or frame it", async () => {
  await using server = served({ tokens });
  const authorization = "Bearer first-token";
  const responses = [
    await server.send("GET", "/v1/health"),
    await server.send("GET", "/v1/sessions"),
    await server.send("GET", "/v1/sessions", undefined, { authorization }),
    await server.send("GET", "/nowhere", undefined, { authorization }),
    await server.send("POST", "/run_code", {}, { authorization }),
    await server.send("POST", "/v1/sessions", "{", { authorization }),
  ];
  for (const { headers } of responses) {
    assertEquals(headers.get("cross-origin-resource-policy"), "same-origin");
    assertEquals(headers.get("content-security-policy"), "frame-ancestors 'none'");
    assertEquals(headers.get("x-content-type-options"), "nosniff");
  }
  const { headers } = await server.send("GET", "/docs", undefined, { authorization });
  assertStringIncludes(headers.get("content-security-policy") ?? "", "frame-ancestors 'none'");
});

Deno.test("a session belongs to the token that opened it", async () => {
  await using server = served({ tokens });
  const mine = { authorization: "Bearer first-token" };
  const theirs = { authorization: "Bearer second-token" };
  const { body: { id } } = await server.send("POST", "/v1/sessions", {}, mine);
  assertEquals((await server.send("GET", `/v1/sessions/${id}`, undefined, mine)).status, 200);
  assertEquals((await server.send("GET", `/v1/sessions/${id}`, undefined, theirs)).status, 404);
  assertEquals((await server.send("POST", `/v1/sessions/${id}/exec`, { code: "1" }, theirs)).status, 404);
  assertEquals((await server.send("DELETE", `/v1/sessions/${id}`, undefined, theirs)).status, 404);
  assertEquals((await server.send("GET", "/v1/sessions", undefined, theirs)).body, { sessions: [] });
});

Deno.test("a server refuses other host names and pages of other origins", async () => {
  await using server = served({ hosts: ["localhost", "127.0.0.1", "[::1]"] });
  const status = async (headers: HeadersInit) =>
    (await server.send("GET", "/v1/sessions", undefined, headers)).status;
  assertEquals(await status({ host: "localhost:8471" }), 200);
  assertEquals(await status({ host: "[::1]:8471" }), 200);
  assertEquals(await status({ host: "LOCALHOST" }), 200);
  assertEquals(await status({ host: "evil.example:8471" }), 403);
  assertEquals(await status({ host: "localhost.evil.example" }), 403);
  const sandbox = `49983-${"0".repeat(48)}`;
  assertEquals(await status({ host: `${sandbox}.localhost:8471` }), 200);
  for (const host of [sandbox, `${sandbox}:8471`, `${sandbox}.evil.example`, `x.${sandbox}.localhost`]) {
    assertEquals(await status({ host }), 403, host);
  }
  assertEquals(await status({ host: "localhost:8471", origin: "http://localhost:8471" }), 200);
  assertEquals(await status({ host: "localhost:8471", origin: "http://localhost:9" }), 403);
  assertEquals(await status({ host: "localhost:8471", origin: "null" }), 403);
});

Deno.test("a server refuses a body that is too large, with or without a content length, or too slow", async () => {
  await using server = served({ limits: { bodyBytes: 100, bodyMs: 1_000 } });
  assertEquals((await server.send("POST", "/v1/sessions", { seed: "1".repeat(100) })).status, 413);
  const post = (body: ReadableStream<Uint8Array>) =>
    server.app.request("/v1/sessions", { method: "POST", body });
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(64)),
  });
  assertEquals((await post(endless)).status, 413);
  assertEquals((await post(new ReadableStream())).status, 408);
});
