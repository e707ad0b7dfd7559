import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import type { Served, TestResponse } from "../served.ts";
import { withPython } from "../with_python.ts";

const FILE = { "content-type": "application/octet-stream" };
const MINE = { authorization: "Bearer first-token-of-16" };
const THEIRS = { authorization: "Bearer second-token-of-16" };
const TOKENS = { tokens: ["first-token-of-16", "second-token-of-16"], maxSessions: 4 };

async function open(server: Served, body: object = {}, headers?: HeadersInit): Promise<string> {
  const created = await server.send("POST", "/v1/sessions", body, headers);
  assertEquals(created.status, 201, JSON.stringify(created.body));
  return created.body.id;
}

async function run(server: Served, id: string, code: string, headers?: HeadersInit): Promise<string> {
  const { body } = await server.send("POST", `/v1/sessions/${id}/exec`, { code }, headers);
  return body.value ?? body.error?.message ?? JSON.stringify(body);
}

async function checkpoint(server: Served, id: string, headers?: HeadersInit): Promise<TestResponse> {
  return await server.send("POST", `/v1/sessions/${id}/checkpoint`, undefined, headers);
}

async function exported(server: Served, id: string, headers?: HeadersInit): Promise<Uint8Array<ArrayBuffer>> {
  const response = await server.app.request(`/v1/checkpoints/${id}`, { headers: new Headers(headers) });
  assertEquals([response.status, response.headers.get("content-type")], [200, FILE["content-type"]]);
  return new Uint8Array(await response.arrayBuffer());
}

async function imported(
  server: Served,
  bytes: Uint8Array<ArrayBuffer>,
  headers?: HeadersInit,
): Promise<TestResponse> {
  const response = await server.app.request("/v1/checkpoints", {
    method: "POST",
    headers: { ...FILE, ...Object.fromEntries(new Headers(headers)) },
    body: bytes,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

function errorOf({ status, body }: TestResponse): [number, string, string | undefined] {
  return [status, body.error.type, body.error.reason];
}

Deno.test("a session is restored to a checkpoint, in place and as another session", async () => {
  await withPython(async (server) => {
    const id = await open(server);
    await run(
      server,
      id,
      "steps = iter(['look', 'take', 'open']); next(steps)\nopen('notes', 'w').write('x')",
    );
    const { status, body } = await checkpoint(server, id);
    assertEquals([status, body.tools], [201, []]);
    assertMatch(body.id, /^[0-9a-f]{64}$/);
    assertEquals(await run(server, id, "import os; os.remove('notes'); next(steps)"), "'take'");
    const restored = await server.send("POST", `/v1/sessions/${id}/restore`, { checkpoint: body.id });
    assertEquals(restored.status, 204);
    assertEquals(await run(server, id, "next(steps), open('notes').read()"), "('take', 'x')");
    const other = await open(server, { from: body.id, metadata: { user: "ada" } });
    assertEquals(await run(server, other, "next(steps), open('notes').read()"), "('take', 'x')");
    const { checkpoints } = (await server.send("GET", "/v1/checkpoints")).body;
    assertEquals(checkpoints.map(({ id, bytes }: typeof body) => [id, bytes]), [[body.id, body.bytes]]);
    assert(Date.parse(checkpoints[0].expiresAt) > Date.now());
  });
});

Deno.test("POST /v1/sessions/{id}/fork opens copies that do not see each other", async () => {
  await withPython(async (server) => {
    const limits = { timeoutMs: 30_000 };
    const id = await open(server, { limits, metadata: { user: "ada" } });
    await run(server, id, "import random; x = [1]; random.seed(1)");
    const { status, body } = await server.send("POST", `/v1/sessions/${id}/fork`, { count: 2 });
    assertEquals(status, 201);
    const [first, second] = body.sessions;
    assertEquals([first.limits, first.metadata, second.metadata], [limits, { user: "ada" }, { user: "ada" }]);
    assertEquals(await run(server, first.id, "x.append(2); x"), "[1, 2]");
    assertEquals(await run(server, second.id, "x.append(3); x"), "[1, 3]");
    assertEquals(await run(server, id, "x"), "[1]");
    assertNotEquals(
      await run(server, first.id, "random.random()"),
      await run(server, second.id, "random.random()"),
    );
    const { body: { sessions } } = await server.send("GET", "/v1/sessions?metadata=user%3Dada");
    assertEquals(sessions.length, 3);
  }, { maxSessions: 3 });
});

Deno.test("POST /v1/sessions/{id}/fork gives copies seeds, and the time that the session has left", async () => {
  await withPython(async (server) => {
    const code = "import os; os.urandom(4)";
    const values: string[][] = [];
    for (let round = 0; round < 2; round++) {
      const id = await open(server, { ttlSeconds: 600 });
      const { body } = await server.send("POST", `/v1/sessions/${id}/fork`, { count: 2, seed: 7 });
      const ids: string[] = body.sessions.map(({ id }: { id: string }) => id);
      assert(
        body.sessions.every(({ expiresAt }: { expiresAt: string }) => Date.parse(expiresAt) > Date.now()),
      );
      values.push(await Promise.all(ids.map((id) => run(server, id, code))));
      for (const each of [id, ...ids]) await server.send("DELETE", `/v1/sessions/${each}`);
    }
    assertEquals(values[0], values[1]);
    assertNotEquals(values[0]?.[0], values[0]?.[1]);
  }, { maxSessions: 3 });
});

Deno.test("POST /v1/sessions/{id}/fork refuses more copies than there are sessions, and opens none", async () => {
  await withPython(async (server) => {
    const id = await open(server);
    const path = `/v1/sessions/${id}/fork`;
    assertEquals(errorOf(await server.send("POST", path, { count: 2 })), [422, "invalid", undefined]);
    assertEquals(errorOf(await server.send("POST", path, { count: 257 })), [422, "invalid", undefined]);
    const other = await open(server);
    assertEquals(errorOf(await server.send("POST", path, { count: 1 })), [504, "timeout", undefined]);
    await server.send("DELETE", `/v1/sessions/${other}`);
    assertEquals((await server.send("POST", path, {})).body.sessions.length, 1);
  }, { maxSessions: 2, waitMs: 100 });
});

Deno.test("a checkpoint that is asked for while a program runs has the state after it", async () => {
  await withPython(async (server) => {
    const id = await open(server);
    const code = "import time\nprint('begun', flush=True)\nfor _ in range(20): time.sleep(0.01)\nx = 'after'";
    const stream = await server.app.request(`/v1/sessions/${id}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
    const events = stream.clone().body?.values();
    assertStringIncludes(new TextDecoder().decode((await events?.next())?.value), "begun");
    const { status, body } = await checkpoint(server, id);
    assertEquals(status, 201);
    assertStringIncludes(await stream.text(), '"status":"ok"');
    await events?.return?.();
    await run(server, id, "x = 'later'");
    await server.send("POST", `/v1/sessions/${id}/restore`, { checkpoint: body.id });
    assertEquals(await run(server, id, "x"), "'after'");
  });
});

Deno.test("a checkpoint of a session with a pipe is refused with the reason, and the session goes on", async () => {
  await withPython(async (server) => {
    const id = await open(server);
    await run(server, id, "import os; ends = os.pipe(); x = 1");
    const refused = await checkpoint(server, id);
    assertEquals(errorOf(refused), [409, "conflict", "checkpoint_refused"]);
    assertStringIncludes(refused.body.error.message, "pipe");
    assertEquals((await server.send("POST", `/v1/sessions/${id}/fork`, {})).status, 409);
    assertEquals(await run(server, id, "x"), "1");
    assertEquals((await server.send("GET", "/v1/checkpoints")).body.checkpoints, []);
  });
});

Deno.test("an exported checkpoint is imported after it was deleted, also by another server of the host", async () => {
  await withPython(async (server) => {
    const id = await open(server);
    await run(server, id, "x = 41");
    const { body } = await checkpoint(server, id);
    const bytes = await exported(server, body.id);
    assertEquals(bytes.length, body.bytes);
    assertEquals((await server.send("DELETE", `/v1/checkpoints/${body.id}`)).status, 204);
    const gone = [
      await server.send("DELETE", `/v1/checkpoints/${body.id}`),
      await server.send("GET", `/v1/checkpoints/${body.id}`),
      await server.send("POST", `/v1/sessions/${id}/restore`, { checkpoint: body.id }),
      await server.send("POST", "/v1/sessions", { from: body.id }),
    ];
    for (const response of gone) assertEquals(errorOf(response), [404, "not_found", undefined]);
    const { status, body: again } = await imported(server, bytes);
    assertEquals([status, again.id], [201, body.id]);
    await server.send("DELETE", `/v1/sessions/${id}`);
    await withPython(async (other) => {
      assertEquals((await imported(other, bytes)).status, 201);
      assertEquals(await run(other, await open(other, { from: body.id }), "x + 1"), "42");
    });
  });
});

Deno.test("a forged, damaged, truncated or oversized import is refused with the reason, and not kept", async () => {
  await withPython(async (server) => {
    const { body } = await checkpoint(server, await open(server));
    const bytes = await exported(server, body.id);
    await server.send("DELETE", `/v1/checkpoints/${body.id}`);
    const changed = (at: number, byte?: number) => {
      const copy = bytes.slice();
      copy[at] = byte ?? (copy[at] ?? 0) ^ 1;
      return copy;
    };
    const header = new TextDecoder("latin1").decode(bytes).indexOf('"profile":"') + 11;
    const cases: [Uint8Array<ArrayBuffer>, unknown][] = [
      [changed(0), [422, "invalid", "checkpoint_damaged"]],
      [changed(8, 200), [422, "invalid", "checkpoint_other_format"]],
      [changed(header, 0x61 + (bytes[header] === 0x61 ? 1 : 0)), [422, "invalid", "checkpoint_damaged"]],
      [changed(bytes.length - 1), [422, "invalid", "checkpoint_damaged"]],
      [changed(bytes.length - 100), [422, "invalid", "checkpoint_damaged"]],
      [bytes.slice(0, 20), [422, "invalid", "checkpoint_truncated"]],
      [bytes.slice(0, -1), [422, "invalid", "checkpoint_truncated"]],
      [new Uint8Array([...bytes, 0]), [422, "invalid", "checkpoint_damaged"]],
      [new Uint8Array(), [422, "invalid", "checkpoint_truncated"]],
      [new TextEncoder().encode("{}"), [422, "invalid", "checkpoint_damaged"]],
      [new Uint8Array(40_001), [413, "too_large", undefined]],
    ];
    for (const [file, expected] of cases) assertEquals(errorOf(await imported(server, file)), expected);
    const encoded = await imported(server, bytes, { "content-encoding": "gzip" });
    assertEquals(errorOf(encoded), [415, "unsupported", undefined]);
    assertEquals((await server.send("GET", "/v1/checkpoints")).body.checkpoints, []);
    assertEquals((await imported(server, bytes)).status, 201);
  }, { limits: { bodyBytes: 40_000 } });
});

Deno.test("a token sees, restores, exports and imports no checkpoint of another token", async () => {
  await withPython(async (server) => {
    const mine = await open(server, {}, MINE);
    const { body } = await checkpoint(server, mine, MINE);
    const bytes = await exported(server, body.id, MINE);
    const theirs = await open(server, {}, THEIRS);
    const path = `/v1/checkpoints/${body.id}`;
    const restore = { checkpoint: body.id };
    for (
      const response of [
        await server.send("GET", path, undefined, THEIRS),
        await server.send("DELETE", path, undefined, THEIRS),
        await server.send("POST", `/v1/sessions/${theirs}/restore`, restore, THEIRS),
        await server.send("POST", `/v1/sessions/${mine}/restore`, restore, THEIRS),
        await server.send("POST", `/v1/sessions/${mine}/checkpoint`, undefined, THEIRS),
        await server.send("POST", `/v1/sessions/${mine}/fork`, {}, THEIRS),
        await server.send("POST", "/v1/sessions", { from: body.id }, THEIRS),
      ]
    ) assertEquals(errorOf(response), [404, "not_found", undefined]);
    assertEquals((await server.send("GET", "/v1/checkpoints", undefined, THEIRS)).body.checkpoints, []);
    assertEquals(errorOf(await imported(server, bytes, THEIRS)), [
      403,
      "forbidden",
      "checkpoint_other_owner",
    ]);
    assertEquals((await server.send("GET", path)).status, 401);
    assertEquals((await imported(server, bytes)).status, 401);
    assertEquals((await imported(server, bytes, MINE)).status, 201);
  }, TOKENS);
});

Deno.test("a checkpoint for which there is no room is refused, and deleting one gives room", async () => {
  await withPython(async (server) => {
    const id = await open(server);
    const first = await checkpoint(server, id);
    await run(server, id, "x = 1");
    const refused = await checkpoint(server, id);
    assertEquals(errorOf(refused), [409, "conflict", undefined]);
    assertStringIncludes(refused.body.error.message, "delete");
    await server.send("DELETE", `/v1/checkpoints/${first.body.id}`);
    assertEquals((await checkpoint(server, id)).status, 201);
    const { body } = await server.send("GET", "/metrics");
    assertMatch(body, /^paddock_checkpoints 1$/m);
    assertMatch(body, /^paddock_checkpoint_bytes [1-9]\d+$/m);
  }, { checkpointLimits: { count: 1 } });
});

Deno.test("an export is sent as its client reads it, and a deleted checkpoint takes room until then", async () => {
  await withPython(async (server) => {
    const kept = async () =>
      (await server.send("GET", "/metrics")).body.match(/^paddock_checkpoints (\d+)$/m)?.[1];
    const id = await open(server);
    await run(server, id, "import os; x = os.urandom(3 << 20)");
    const { body } = await checkpoint(server, id);
    const [read, dropped] = [
      await server.app.request(`/v1/checkpoints/${body.id}`),
      await server.app.request(`/v1/checkpoints/${body.id}`),
    ];
    assertEquals(read.headers.get("content-length"), String(body.bytes));
    await server.send("DELETE", `/v1/checkpoints/${body.id}`);
    assertEquals([(await read.bytes()).length, await kept()], [body.bytes, "1"]);
    await dropped.body?.cancel();
    assertEquals(await kept(), "0");
  });
});

Deno.test("wrong requests about checkpoints are refused", async () => {
  await withPython(async (server) => {
    const id = await open(server);
    const unknown = "0".repeat(64);
    const cases: [string, string, unknown, number][] = [
      ["POST", `/v1/sessions/${id}/restore`, { checkpoint: unknown }, 404],
      ["POST", `/v1/sessions/${id}/restore`, { checkpoint: "../../etc/passwd" }, 422],
      ["POST", `/v1/sessions/${id}/restore`, {}, 422],
      ["POST", `/v1/sessions/${id}/fork`, { count: 0 }, 422],
      ["POST", `/v1/sessions/${id}/fork`, { count: 1.5 }, 422],
      ["POST", `/v1/sessions/${id}/fork`, { seed: 2 ** 53 }, 422],
      ["POST", `/v1/sessions/${id}/fork`, { more: 1 }, 422],
      ["POST", "/v1/sessions", { from: unknown }, 404],
      ["POST", "/v1/sessions", { from: unknown, seed: 1 }, 422],
      ["POST", "/v1/sessions", { from: 1 }, 422],
      ["GET", "/v1/checkpoints/x", undefined, 422],
      ["GET", `/v1/checkpoints/${unknown}`, undefined, 404],
      ["DELETE", `/v1/checkpoints/${unknown}`, undefined, 404],
      ["POST", "/v1/sessions/x/checkpoint", undefined, 404],
    ];
    for (const [method, path, body, status] of cases) {
      const response = await server.send(method, path, body);
      assertEquals([path, response.status], [path, status], JSON.stringify(response.body));
    }
    assertEquals((await server.send("GET", "/v1/sessions")).body.sessions.length, 1);
  });
});
