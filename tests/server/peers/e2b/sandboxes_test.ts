import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { type Served, served } from "../../served.ts";

const KEY = "e2b_0123456789abcdef";
const OTHER = "e2b_fedcba9876543210";

async function create(server: Served, body: object = {}, key = KEY) {
  const { status, body: sandbox } = await server.send("POST", "/v2/sandboxes", body, { "x-api-key": key });
  assertEquals(status, 201);
  return sandbox;
}

Deno.test("POST /sandboxes returns a sandbox in E2B's format, whose tokens are its own", async () => {
  await using server = served({ tokens: [KEY, OTHER] });
  for (const path of ["/sandboxes", "/v2/sandboxes"]) {
    const { status, body } = await server.send("POST", path, { templateID: "base", timeout: 60 }, {
      "x-api-key": KEY,
    });
    assertEquals(status, 201);
    const { sandboxID, envdAccessToken, trafficAccessToken, ...rest } = body;
    assertMatch(sandboxID, /^[0-9a-f]{48}$/);
    assertMatch(envdAccessToken, /^sbx_[0-9a-f]{64}$/);
    assertEquals(trafficAccessToken, envdAccessToken);
    assertEquals(rest, {
      templateID: "base",
      clientID: "paddock",
      envdVersion: "0.6.4",
      domain: null,
    });
    await server.send("DELETE", `/sandboxes/${sandboxID}`, undefined, { "x-api-key": KEY });
  }
  assertEquals(server.pool.alive, 0);
});

Deno.test("/sandboxes shows a token only its own sandboxes, also in requests to the sandbox itself", async () => {
  await using server = served({ tokens: [KEY, OTHER], maxSessions: 4 });
  const { sandboxID: id } = await create(server);
  const other = { "x-api-key": OTHER };
  assertEquals((await server.send("GET", "/v2/sandboxes", undefined, other)).body, []);
  for (const [method, path] of [["GET", ""], ["DELETE", ""], ["POST", "/timeout"], ["POST", "/connect"]]) {
    const body = method === "POST" ? { timeout: 1 } : undefined;
    const response = await server.send(method as string, `/sandboxes/${id}${path}`, body, other);
    assertEquals([response.status, response.body], [404, { code: 404, message: `Sandbox ${id} not found` }]);
  }
  const named = { "e2b-sandbox-id": id, "x-access-token": OTHER };
  const gone = { sandboxId: id, code: 502, message: `The sandbox '${id}' was not found` };
  for (
    const [method, path, body] of [["GET", "/health"], ["POST", "/execute", { code: "1" }], [
      "GET",
      "/contexts",
    ]]
  ) {
    const response = await server.send(method as string, path as string, body, named);
    assertEquals(response.status, 502);
    const text = typeof response.body === "string" ? JSON.parse(response.body) : response.body;
    assertEquals(text, gone);
  }
  assertEquals(
    (await server.send("GET", "/health", undefined, { ...named, "x-access-token": KEY })).status,
    204,
  );
});

Deno.test("/health of a sandbox needs the token of its owner, by its host name too", async () => {
  await using server = served({ tokens: [KEY] });
  const { sandboxID: id } = await create(server);
  assertEquals((await server.send("GET", "/health", undefined, { "e2b-sandbox-id": id })).status, 401);
  const host = { host: `49983-${id}.example.org` };
  assertEquals((await server.send("GET", "/health", undefined, host)).status, 401);
  assertEquals(
    (await server.send("GET", "/health", undefined, { ...host, "x-access-token": KEY })).status,
    204,
  );
  assertEquals((await server.send("GET", "/health")).body, { status: "healthy" });
});

Deno.test("a refused request to /sandboxes has E2B's code and message", async () => {
  await using server = served({ tokens: [KEY] });
  const { status, body } = await server.send("POST", "/v2/sandboxes", {});
  assertEquals([status, body.code], [401, 401]);
  assertStringIncludes(body.message, "token");
  const headers = { "x-api-key": KEY };
  for (const wrong of [{ timeout: -1 }, { timeout: 86_401 }, { metadata: { a: "x".repeat(5000) } }, "{"]) {
    const { status, body } = await server.send("POST", "/v2/sandboxes", wrong, headers);
    assertEquals([status, body.code], [400, 400]);
  }
  for (const envVars of [{ "A=B": "c" }, { A: "x".repeat(70_000) }]) {
    assertEquals((await server.send("POST", "/v2/sandboxes", { envVars }, headers)).status, 400);
  }
  assertEquals(server.pool.alive, 0);
});

Deno.test("GET /v2/sandboxes filters by metadata, state and template, and has pages", async () => {
  await using server = served({ maxSessions: 4 });
  const ids: string[] = [];
  for (const name of ["one", "two", "three"]) {
    ids.push((await create(server, { templateID: name, metadata: { name, all: "yes" } })).sandboxID);
  }
  const list = async (query: string) => {
    const { body, headers } = await server.send("GET", `/v2/sandboxes?${query}`);
    return {
      ids: body.map(({ sandboxID }: { sandboxID: string }) => sandboxID),
      next: headers.get("x-next-token"),
    };
  };
  const [one, two, three] = ids;
  assertEquals(await list("metadata=name%3Dtwo"), { ids: [two], next: null });
  assertEquals((await list("state=paused")).ids, []);
  assertEquals((await list("template=three")).ids, [three]);
  assertEquals((await list("order=asc")).ids, ids);
  const first = await list("limit=2&metadata=all%3Dyes&state=running,paused");
  assertEquals(first.ids, [three, two]);
  assertEquals(await list(`limit=2&nextToken=${first.next}`), { ids: [one], next: null });
  await server.send("DELETE", `/sandboxes/${two}`);
  const { ids: afterEnd } = await list(`limit=2&nextToken=${first.next}`);
  assert(!afterEnd.includes(two));
});

Deno.test("a sandbox ends after its timeout, which requests change", async () => {
  await using server = served();
  const { sandboxID: id } = await create(server, { timeout: 100 });
  const endAt = async () => Date.parse((await server.send("GET", `/sandboxes/${id}`)).body.endAt);
  const isNear = (time: number, seconds: number) => Math.abs(time - Date.now() - 1000 * seconds) < 5000;
  assert(isNear(await endAt(), 100));
  assertEquals((await server.send("POST", `/sandboxes/${id}/timeout`, { timeout: 50 })).status, 204);
  assert(isNear(await endAt(), 50));
  assertEquals(
    (await server.send("POST", `/v2/sandboxes/${id}/connect`, { timeout: 20 })).body.sandboxID,
    id,
  );
  assert(isNear(await endAt(), 50), "connecting does not shorten the life");
  assertEquals((await server.send("POST", `/sandboxes/${id}/refreshes`, { duration: 200 })).status, 204);
  assert(isNear(await endAt(), 200));
  await server.send("POST", `/sandboxes/${id}/timeout`, { timeout: 0.01 });
  await delay(50);
  assertEquals((await server.send("GET", `/sandboxes/${id}`)).status, 404);
  assertEquals(server.pool.alive, 0);
});

Deno.test("the metrics of a sandbox are one row, if the time is in the range of the request", async () => {
  await using server = served();
  const { sandboxID: id } = await create(server);
  const { body: [row, ...rest] } = await server.send("GET", `/sandboxes/${id}/metrics`);
  assertEquals([row.cpuCount, row.cpuUsedPct, rest], [1, 0, []]);
  assertEquals((await server.send("GET", `/sandboxes/${id}/metrics?start=0&end=1000`)).body, []);
});

Deno.test("the contexts of a sandbox end with it", async () => {
  await using server = served({ maxSessions: 3 });
  const { sandboxID: id } = await create(server);
  const { sandboxID: other } = await create(server);
  const headers = { "e2b-sandbox-id": id };
  const { body: context } = await server.send("POST", "/contexts", {}, headers);
  assertEquals(context.cwd, "/home/user");
  assertEquals((await server.send("GET", "/contexts", undefined, headers)).body.length, 2);
  const elsewhere = { "e2b-sandbox-id": other };
  const wrong = await server.send("POST", "/execute", { code: "1", context_id: context.id }, elsewhere);
  assertEquals(wrong.status, 404);
  assertEquals(server.pool.alive, 3);
  await server.send("DELETE", `/sandboxes/${id}`);
  await delay(0);
  assertEquals(server.pool.alive, 1);
});
