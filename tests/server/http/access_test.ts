import { assertEquals } from "@std/assert";
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
