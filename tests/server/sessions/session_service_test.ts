import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { HOST_CLOCK } from "../../../src/async/clock.ts";
import { Metrics } from "../../../src/server/metrics.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { SessionService, type SessionServiceOptions } from "../../../src/server/sessions/session_service.ts";
import { FakePool, ok } from "../../fake_pool.ts";
import { served } from "../served.ts";

const signal = new AbortController().signal;

function service(options: Partial<SessionServiceOptions> = {}): SessionService {
  return new SessionService({ pool: new FakePool(), metrics: new Metrics(), maxSessions: 1, ...options });
}

async function failure(work: Promise<unknown>): Promise<[string, number | undefined]> {
  const { code, retryAfter } = await assertRejects(() => work, ServerError);
  return [code, retryAfter];
}

Deno.test("SessionService.create() rejects with a retry time when the queue is full", async () => {
  await using sessions = service({ queue: 0 });
  await sessions.create({ owner: "", signal });
  assertEquals(await failure(sessions.create({ owner: "", signal })), ["busy", 1]);
});

Deno.test("SessionService.create() limits the sessions of each owner", async () => {
  await using sessions = service({ maxSessions: 3, maxSessionsPerToken: 2, waitMs: 20 });
  await sessions.create({ owner: "a", signal });
  await sessions.create({ owner: "a", signal });
  assertEquals(await failure(sessions.create({ owner: "a", signal })), ["timeout", 1]);
  await sessions.create({ owner: "b", signal });
});

Deno.test("SessionService.create() serves the owner with the fewest sessions first", async () => {
  await using sessions = service({ maxSessions: 2 });
  const [first] = [
    await sessions.create({ owner: "a", signal }),
    await sessions.create({ owner: "a", signal }),
  ];
  const order: string[] = [];
  const waits = ["a", "a", "b"].map(async (owner) => {
    const session = await sessions.create({ owner, signal });
    order.push(owner);
    await session[Symbol.asyncDispose]();
  });
  await new Promise((resolve) => setTimeout(resolve));
  await first[Symbol.asyncDispose]();
  await Promise.all(waits);
  assertEquals(order, ["b", "a", "a"]);
});

Deno.test("SessionService.create() evicts a request of the owner with most waiting when the queue is full", async () => {
  await using sessions = service({ queue: 3 });
  const first = await sessions.create({ owner: "a", signal });
  const outcomes: string[] = [];
  const wait = async (owner: string) => {
    try {
      await using _session = await sessions.create({ owner, signal });
      outcomes.push(`${owner} served`);
    } catch (error) {
      outcomes.push(`${owner} ${error instanceof ServerError && error.code}`);
    }
  };
  const waits = ["a", "a", "a", "b", "b", "a"].map(wait);
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(outcomes.toSorted(), ["a busy", "a busy", "b busy"]);
  await first[Symbol.asyncDispose]();
  await Promise.all(waits);
  assertEquals(outcomes.slice(3), ["a served", "b served", "a served"]);
});

Deno.test("SessionService.borrow() waits however many requests wait, and takes turns among owners", async () => {
  await using sessions = service({ queue: 0 });
  const first = await sessions.create({ owner: "a", signal });
  const order: string[] = [];
  const waits = ["a", "a", "a", "b", "b"].map(async (owner) => {
    await using _session = await sessions.borrow({ owner, signal });
    order.push(owner);
  });
  await new Promise((resolve) => setTimeout(resolve));
  await first[Symbol.asyncDispose]();
  await Promise.all(waits);
  assertEquals(order, ["a", "b", "a", "b", "a"]);
});

Deno.test("SessionService.borrow() rejects after the request's own wait time and names the flag to raise", async () => {
  await using sessions = service({ waitMs: 3_600_000 });
  await using _first = await sessions.create({ owner: "", signal });
  const error = await assertRejects(() => sessions.borrow({ owner: "", waitMs: 20, signal }), ServerError);
  assertEquals([error.code, error.retryAfter], ["timeout", 1]);
  assertStringIncludes(error.message, "No session was free within 20 ms as all 1 are in use");
  assertStringIncludes(error.message, "more sessions");
});

Deno.test("SessionService.create() times out when no session becomes free", async () => {
  await using sessions = service({ waitMs: 20 });
  const first = await sessions.create({ owner: "", signal });
  assertEquals(await failure(sessions.create({ owner: "", signal })), ["timeout", 1]);
  await first[Symbol.asyncDispose]();
  await sessions.create({ owner: "", signal });
});

Deno.test("SessionService.create() leaves the queue when its signal aborts", async () => {
  await using sessions = service();
  await using first = await sessions.create({ owner: "", signal });
  const disconnect = new AbortController();
  const waits = failure(sessions.create({ owner: "", signal: disconnect.signal }));
  disconnect.abort();
  assertEquals(await waits, ["unavailable", undefined]);
  await first[Symbol.asyncDispose]();
  await sessions.create({ owner: "", signal });
});

Deno.test("SessionService.create() ends a session that opens after its signal has aborted", async () => {
  const pool = new FakePool();
  const disconnect = new AbortController();
  const late = {
    async acquire() {
      const lease = await pool.acquire();
      disconnect.abort();
      return lease;
    },
  };
  await using sessions = service({ pool: late });
  assertEquals(await failure(sessions.create({ owner: "", signal: disconnect.signal })), [
    "unavailable",
    undefined,
  ]);
  assertEquals([pool.alive, sessions.directory.list("").length], [0, 0]);
});

Deno.test("the longest idle evictable session ends when no slot is free", async () => {
  const sleeping = Promise.withResolvers<void>();
  const python = new FakePool(async (code) => (code === "sleep" && await sleeping.promise, ok()));
  await using sessions = service({ pool: python, maxSessions: 3, waitMs: 20 });
  const open = async () => await sessions.create({ owner: "", signal, spareMs: 0 });
  const [busy, left, used] = [await open(), await open(), await open()];
  await left.exec("1");
  const run = busy.exec("sleep");
  while (!python.ran.includes("sleep")) await new Promise((resolve) => setTimeout(resolve));
  await used.exec("1");
  await sessions.create({ owner: "", signal });
  assertEquals([busy.ended, left.ended, used.ended], [false, true, false]);
  await sessions.create({ owner: "", signal });
  assertEquals([busy.ended, used.ended], [false, true]);
  assertEquals(await failure(sessions.create({ owner: "", signal })), ["timeout", 1]);
  sleeping.resolve();
  await run;
});

Deno.test("SessionService.create() evicts an idle session of its own owner first", async () => {
  await using sessions = service({ waitMs: 50, maxSessions: 2 });
  const options = { signal, spareMs: 0 };
  const [own, others] = [
    await sessions.create({ ...options, owner: "a" }),
    await sessions.create({ ...options, owner: "b" }),
  ];
  await Promise.all([own.exec("1"), others.exec("1")]);
  await using _third = await sessions.create({ owner: "a", signal });
  assertEquals([own.ended, others.ended], [true, false]);
  assertEquals(await failure(sessions.create({ owner: "a", signal })), ["timeout", 1]);
  assertEquals(others.ended, false);
});

Deno.test("a jump of the host's clock does not make a session idle", async () => {
  let jumpMs = 0;
  const clock = { ...HOST_CLOCK, now: () => Date.now() + jumpMs };
  await using sessions = service({ waitMs: 20, clock });
  const session = await sessions.create({ owner: "a", signal, spareMs: 0 });
  await session.exec("1");
  jumpMs = 3_600_000;
  assertEquals(await failure(sessions.create({ owner: "b", signal })), ["timeout", 1]);
  assertEquals(session.ended, false);
});

Deno.test("SessionService.create() evicts an evictable session when its use ends", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const pool = new FakePool(async () => {
    await promise;
    return ok();
  });
  await using sessions = service({ pool });
  const first = await sessions.create({ owner: "", signal, spareMs: 0 });
  const running = first.exec("1");
  const second = sessions.create({ owner: "", signal });
  await Promise.resolve();
  assertEquals(first.ended, false);
  resolve();
  assertEquals((await running).status, "ok");
  await (await second)[Symbol.asyncDispose]();
  assertEquals(first.ended, true);
});

Deno.test("SessionService.find() returns a session only to its owner", async () => {
  await using sessions = service();
  const { id } = await sessions.create({ owner: "a", signal });
  assertEquals(sessions.directory.find(id, "a").id, id);
  assertEquals(sessions.directory.list("b"), []);
  assertEquals(await failure((async () => await sessions.directory.find(id, "b"))()), [
    "not_found",
    undefined,
  ]);
});

Deno.test("an idle session ends, and a busy one does not", async () => {
  const pool = new FakePool(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return ok();
  });
  await using sessions = service({ pool, idleMs: 20 });
  const session = await sessions.create({ owner: "", signal });
  assertEquals((await session.exec("long")).status, "ok");
  while (pool.alive > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(await failure(session.exec("late")), ["conflict", undefined]);
  assertEquals(sessions.directory.list(""), []);
});

Deno.test("a session rejects a request when too many are waiting", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const pool = new FakePool(async () => (await promise, ok()));
  await using sessions = service({ pool });
  const session = await sessions.create({ owner: "", signal });
  const waiting = Array.from({ length: 64 }, () => session.exec("1"));
  assertEquals(await failure(session.exec("1")), ["busy", 1]);
  resolve();
  await Promise.all(waiting);
});

Deno.test("disposing a SessionService ends its sessions and rejects waiting requests", async () => {
  const pool = new FakePool();
  const sessions = service({ pool });
  await sessions.create({ owner: "", signal });
  const waits = failure(sessions.create({ owner: "", signal }));
  await sessions[Symbol.asyncDispose]();
  assertEquals(await waits, ["unavailable", undefined]);
  assertEquals(pool.alive, 0);
  assertEquals(await failure(sessions.create({ owner: "", signal })), ["unavailable", undefined]);
});

Deno.test("a repeated request with the same id runs once and gets the same response", async () => {
  await using server = served({
    python: (_, globals) => {
      globals.set("n", (globals.get("n") ?? 0) + 1);
      return ok("", { value: String(globals.get("n")) });
    },
  });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const exec = (code: string, headers?: HeadersInit) =>
    server.send("POST", `/v1/sessions/${id}/exec`, { code }, headers);
  const both = await Promise.all([exec("a", { "x-request-id": "1" }), exec("a", { "x-request-id": "1" })]);
  const later = await exec("a", { "x-request-id": "1" });
  assertEquals([...both, later].map(({ body }) => body.value), ["1", "1", "1"]);
  assertEquals(later.headers.get("content-type"), "application/json");
  assertEquals((await exec("a", { "x-request-id": "2" })).body.value, "2");
  assertEquals((await exec("a")).body.value, "3");
  assertEquals((await exec("b", { "x-request-id": "1" })).status, 409);
});

Deno.test("a running request is not evicted by completed ones", async () => {
  const { promise: response, resolve } = Promise.withResolvers<ReturnType<typeof ok>>();
  let runs = 0;
  await using server = served({ python: () => (runs++, response) });
  const post = (body: object, id: string) =>
    server.send("POST", "/v1/exec:batch", body, { "x-request-id": id });
  const first = post({ items: [{ code: "" }] }, "long");
  for (let at = 0; at < 4_100; at++) await post({ items: [] }, `${at}`);
  const again = post({ items: [{ code: "" }] }, "long");
  resolve(ok("done"));
  assertEquals((await first).body.results[0].result.stdout, "done");
  assertEquals((await again).body, (await first).body);
  assertEquals(runs, 1);
});

Deno.test("a request with an id can be cancelled by its owner only", async () => {
  const started: (() => void)[] = [];
  await using server = served({
    tokens: ["a", "b"],
    maxSessions: 1,
    python: (_code, _globals, { signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal?.addEventListener("abort", () => reject(signal.reason));
      started.shift()?.();
      return promise;
    },
  });
  const as = (token: string, more: HeadersInit = {}) => ({ authorization: `Bearer ${token}`, ...more });
  const cancel = async (token: string, id: string) =>
    (await server.send("DELETE", `/v1/requests/${id}`, undefined, as(token))).status;
  const withId = as("a", { "x-request-id": "1" });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {}, as("a", { "x-request-id": "0" }));
  assertEquals(await cancel("a", "0"), 404);
  for (
    const [path, body] of [
      [`/v1/sessions/${id}/exec`, { code: "" }],
      ["/v1/exec:batch", { items: [{ code: "", session: id }] }],
    ] as const
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    started.push(resolve);
    const running = server.send("POST", path, body, withId);
    await promise;
    assertEquals([await cancel("b", "1"), await cancel("a", "1")], [404, 204]);
    assertEquals((await running).body.error.message, "The request was cancelled");
  }
  const waiting = server.send("POST", "/v1/sessions", {}, withId);
  while (await cancel("a", "1") === 404) await new Promise((resolve) => setTimeout(resolve)); // the request has its turn
  assertEquals((await waiting).status, 503);
  assertEquals(server.errors, []);
});

Deno.test("a failed response is not stored", async () => {
  let broken = true;
  const pool = new FakePool();
  await using server = served({
    pool: { acquire: () => broken ? Promise.reject(new TypeError("bug")) : pool.acquire() },
    waitMs: 50,
    maxSessions: 1,
  });
  const headers = { "x-request-id": "1" };
  await server.send("POST", "/v1/sessions", {}, { "x-request-id": "0" });
  broken = false;
  const first = await server.send("POST", "/v1/sessions", {}, headers);
  assertEquals(first.status, 201);
  const full = await server.send("POST", "/v1/sessions", {}, { "x-request-id": "2" });
  assertEquals([full.status, full.headers.get("retry-after")], [504, "1"]);
  await server.send("DELETE", `/v1/sessions/${first.body.id}`);
  assertEquals((await server.send("POST", "/v1/sessions", {}, { "x-request-id": "2" })).status, 201);
});

Deno.test("SessionService.create() leaves each of several owners a share of the sessions", async () => {
  await using sessions = service({ maxSessions: 4, owners: 2, waitMs: 20 });
  for (let count = 0; count < 3; count++) await sessions.create({ owner: "a", signal });
  assertEquals(await failure(sessions.create({ owner: "a", signal })), ["timeout", 1]);
  await sessions.create({ owner: "b", signal });
});

Deno.test("implicit contexts of E2B end in favour of an owner without a session", async () => {
  let passedMs = 0;
  const clock = { ...HOST_CLOCK, monotonic: () => performance.now() + passedMs };
  const options = { tokens: ["a", "b", "c"], maxSessions: 2, clock };
  await using server = served({ ...options, python: () => ok("hi\n") });
  const execute = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await server.send("POST", "/execute", { code: "1" }, headers)).status;
  };
  assertEquals([await execute("a"), await execute("b")], [200, 200]);
  passedMs = 11_000;
  assertEquals([await execute("c"), server.pool.alive], [200, 2]);
});
