import { assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { forkRequest } from "../../../../src/server/peers/e2b/contract.ts";
import { HibernationStore } from "../../../../src/server/hibernation/hibernation_store.ts";
import { BranchingFakePool, ok } from "../../../fake_pool.ts";
import { type Served, served } from "../../served.ts";

const KEY = "e2b_0123456789abcdef";
const OTHER = "e2b_fedcba9876543210";

async function create(server: Served, body: object = {}, key = KEY) {
  const { status, body: sandbox } = await server.send("POST", "/v2/sandboxes", body, { "x-api-key": key });
  assertEquals(status, 201);
  return sandbox;
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!await isTrue()) await delay(1);
}

function pausable(options: Parameters<typeof served>[0] = {}): Served {
  const hibernation = { store: new HibernationStore(), afterMs: 3_600_000 };
  return served({ pool: new BranchingFakePool(), hibernation, maxSessions: 2, ...options });
}

Deno.test("a sandbox is paused, listed as such, and goes on after resume or connect", async () => {
  await using server = pausable();
  const { sandboxID: id } = await create(server, { timeout: 60 });
  const { sandboxID: other } = await create(server, { timeout: 60 });
  const post = async (path: string, body: object = {}) =>
    (await server.send("POST", `/sandboxes/${id}${path}`, body)).status;
  const states = async (query = "") => {
    const { body } = await server.send("GET", `/v2/sandboxes${query}`);
    return body.map((
      { sandboxID, state }: { sandboxID: string; state: string },
    ) => [sandboxID === id, state]);
  };
  assertEquals(await post("/resume"), 409);
  assertEquals(await post("/pause"), 204);
  assertEquals(await post("/pause"), 409);
  assertEquals(await states(), [[false, "running"], [true, "paused"]]);
  assertEquals(await states("?state=paused"), [[true, "paused"]]);
  assertEquals(await states("?state=running"), [[false, "running"]]);
  assertEquals((await server.send("GET", "/sandboxes")).body.length, 1);
  assertEquals((await server.send("GET", `/sandboxes/${id}`)).body.state, "paused");
  const named = { "e2b-sandbox-id": id };
  assertEquals((await server.send("POST", "/execute", { code: "1" }, named)).status, 502);
  assertEquals([await post("/timeout", { timeout: 5 }), await post("/fork")], [409, 201]);
  assertEquals(await post("/resume", { timeout: 30 }), 201);
  assertEquals((await server.send("GET", "/health", undefined, named)).status, 204);
  assertEquals(await post("/pause", { memory: true }), 204);
  assertEquals(await post("/connect", { timeout: 30 }), 201);
  assertEquals(await post("/connect", { timeout: 30 }), 200);
  const { body } = await server.send("GET", "/v2/sandboxes");
  assertEquals(body.length, 3);
  assertEquals(body.some(({ sandboxID }: { sandboxID: string }) => sandboxID === other), true);
  for (const { sandboxID } of body) await server.send("DELETE", `/sandboxes/${sandboxID}`);
  assertEquals(server.pool.alive, 0);
});

Deno.test("a fork of a paused sandbox needs room for its copies, and leaves it paused", async () => {
  await using server = pausable({
    hibernation: { store: new HibernationStore({ count: 2 }), afterMs: 3_600_000 },
  });
  const { sandboxID: id } = await create(server, { timeout: 60 });
  const post = (path: string, body: object = {}) => server.send("POST", `/sandboxes/${id}${path}`, body);
  assertEquals((await post("/pause")).status, 204);
  assertEquals((await post("/fork", { count: 2 })).status, 429);
  assertEquals((await post("/fork", { count: 1 })).status, 201);
  assertEquals((await server.send("GET", `/sandboxes/${id}`)).body.state, "paused");
});

Deno.test("a sandbox is paused after its program, and one whose program runs on is no conflict", async () => {
  const running = Promise.withResolvers<ReturnType<typeof ok>>();
  const pool = new BranchingFakePool((code) => code === "wait" ? running.promise : ok());
  await using server = pausable({ pool, waitMs: 50 });
  const { sandboxID: id } = await create(server, { timeout: 60 });
  const busy = server.send("POST", "/execute", { code: "wait" }, { "e2b-sandbox-id": id });
  await until(() => pool.ran.includes("wait"));
  const { status, body } = await server.send("POST", `/sandboxes/${id}/pause`);
  assertEquals([status, body.message], [503, "Cannot pause sandbox: The session is in use"]);
  running.resolve(ok());
  await busy;
  assertEquals((await server.send("POST", `/sandboxes/${id}/pause`)).status, 204);
});

Deno.test("a sandbox whose program ends in time is paused after it", async () => {
  const running = Promise.withResolvers<ReturnType<typeof ok>>();
  const pool = new BranchingFakePool((code) => code === "wait" ? running.promise : ok());
  await using server = pausable({ pool });
  const { sandboxID: id } = await create(server, { timeout: 60 });
  const busy = server.send("POST", "/execute", { code: "wait" }, { "e2b-sandbox-id": id });
  await until(() => pool.ran.includes("wait"));
  const paused = server.send("POST", `/sandboxes/${id}/pause`);
  assertEquals(await Promise.race([paused, delay(20).then(() => "waiting")]), "waiting");
  running.resolve(ok());
  assertEquals([(await busy).status, (await paused).status], [200, 204]);
  assertEquals((await server.send("GET", `/sandboxes/${id}`)).body.state, "paused");
});

Deno.test("a pause that waits for a program ends with its sandbox", async () => {
  const running = Promise.withResolvers<ReturnType<typeof ok>>();
  const pool = new BranchingFakePool((code) => code === "wait" ? running.promise : ok());
  await using server = pausable({ pool });
  const { sandboxID: id } = await create(server, { timeout: 60 });
  const busy = server.send("POST", "/execute", { code: "wait" }, { "e2b-sandbox-id": id });
  await until(() => pool.ran.includes("wait"));
  const paused = server.send("POST", `/sandboxes/${id}/pause`);
  const killed = server.send("DELETE", `/sandboxes/${id}`);
  assertEquals((await paused).status, 404);
  running.resolve(ok());
  assertEquals((await killed).status, 204);
  await busy;
});

Deno.test("the snapshots of a token, their names too, do not exist for another one", async () => {
  await using server = pausable({ tokens: [KEY, OTHER], maxSessions: 4 });
  const { sandboxID: id } = await create(server, { timeout: 60 });
  const send = (key: string, method: string, path: string, body?: object) =>
    server.send(method, path, body, { "x-api-key": key });
  const { body: made } = await send(KEY, "POST", `/sandboxes/${id}/snapshots`, { name: "kept" });
  assertEquals((await send(OTHER, "POST", `/sandboxes/${id}/snapshots`, { name: "kept" })).status, 404);
  for (const query of ["", "?name=kept", `?name=${made.snapshotID}`, `?sandboxID=${id}`]) {
    assertEquals((await send(OTHER, "GET", `/snapshots${query}`)).body, []);
    assertEquals((await send(KEY, "GET", `/snapshots${query}`)).body, [made]);
  }
  for (const name of ["kept", made.snapshotID]) {
    assertEquals((await send(OTHER, "DELETE", `/templates/${name}`)).status, 404);
  }
  const { status } = await send(OTHER, "POST", "/v2/sandboxes", { templateID: made.snapshotID });
  assertEquals(status, 404);
  assertEquals((await send(KEY, "DELETE", "/templates/kept")).status, 204);
});

Deno.test("only their owner opens copies of a paused sandbox and of a snapshot", async () => {
  await using server = pausable({ tokens: [KEY, OTHER] });
  const { sandboxID: id } = await create(server, { timeout: 60 });
  const post = async (path: string, key: string, body: object = {}) =>
    (await server.send("POST", path, body, { "x-api-key": key })).status;
  assertEquals(await post(`/sandboxes/${id}/snapshots`, KEY, { name: "base" }), 201);
  assertEquals(await post(`/sandboxes/${id}/pause`, KEY), 204);
  for (const path of [`/sandboxes/${id}/fork`, "/sandboxes/base/fork", "/snapshots/base/fork"]) {
    assertEquals([await post(path, OTHER), await post(path, KEY)], [404, 201], path);
  }
  const unknown = ["/sandboxes/none/fork", "/snapshots/none/fork", `/snapshots/${"0".repeat(64)}/fork`];
  for (const path of unknown) assertEquals(await post(path, KEY), 404, path);
  assertEquals(await post("/snapshots/base/fork", KEY, { count: 0 }), 400);
  assertEquals(await post("/snapshots/base/spoon", KEY), 501);
});

Deno.test("a request for a fork names 1 to 100 copies", () => {
  const isValid = [0, 1, 100, 101].map((count) => forkRequest.safeParse({ count }).success);
  assertEquals(isValid, [false, true, true, false]);
});

Deno.test("a sandbox with autoPause pauses at the end of its time, and with autoResume wakes by a request", async () => {
  await using server = pausable();
  const { sandboxID: id } = await create(server, { timeout: 0.05, autoPause: true });
  const { sandboxID: waking } = await create(server, {
    timeout: 0.05,
    autoPause: true,
    autoResume: { enabled: true },
  });
  const isPaused = async (sandbox: string) =>
    (await server.send("GET", `/sandboxes/${sandbox}`)).body.state === "paused";
  await until(async () => await isPaused(id) && await isPaused(waking));
  const execute = async (sandbox: string) =>
    (await server.send("POST", "/execute", { code: "1" }, { "e2b-sandbox-id": sandbox })).status;
  assertEquals([await execute(id), await execute(waking)], [502, 200]);
});

Deno.test("a sandbox that pauses without its memory wakes only by a request that resumes it", async () => {
  await using server = pausable();
  const settings = { timeout: 0.05, autoPause: true, autoPauseMemory: false };
  const refused = await server.send("POST", "/v2/sandboxes", { ...settings, autoResume: { enabled: true } });
  assertEquals(refused.status, 400);
  const { sandboxID: id } = await create(server, settings);
  const { sandboxID: waking } = await create(server, {
    timeout: 60,
    autoPause: true,
    autoResume: { enabled: true },
  });
  await until(async () => (await server.send("GET", `/sandboxes/${id}`)).body.state === "paused");
  assertEquals((await server.send("POST", `/sandboxes/${waking}/pause`, { memory: false })).status, 204);
  const execute = async (sandbox: string) =>
    (await server.send("POST", "/execute", { code: "1" }, { "e2b-sandbox-id": sandbox })).status;
  for (const sandbox of [id, waking]) {
    assertEquals(await execute(sandbox), 502);
    assertEquals((await server.send("POST", `/sandboxes/${sandbox}/connect`, { timeout: 60 })).status, 201);
    assertEquals(await execute(sandbox), 200);
  }
});

Deno.test("what Paddock lacks of E2B's API has status 501 and says why", async () => {
  await using server = served();
  const { sandboxID: id } = await create(server);
  const missing = [
    `/sandboxes/${id}/pause`, // this server's sessions do not hibernate
    "/templates",
    "/volumes",
    "/secrets/x",
  ];
  for (const path of missing) {
    const { status, body } = await server.send("POST", path, {});
    assertEquals([status, body.code], [501, 501]);
    assertStringIncludes(body.message, "Paddock");
  }
  await using pausing = pausable();
  assertEquals((await pausing.send("POST", "/v2/sandboxes", { volumeMounts: [{}] })).status, 501);
  for (const body of [{ autoPause: true }, { volumeMounts: [{}] }, { iam: { tokens: {} } }]) {
    assertEquals((await server.send("POST", "/v2/sandboxes", body)).status, 501);
  }
});
