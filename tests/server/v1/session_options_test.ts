import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { ExecOptions } from "../../../src/sandbox/contract/exec.ts";
import { bad, type FakePython, ok } from "../../fake_pool.ts";
import { served } from "../served.ts";

/** Returns a Python that records the options of its programs. `sleep` runs until it is aborted. */
function recorder(): { python: FakePython; seen: ExecOptions[] } {
  const seen: ExecOptions[] = [];
  const python: FakePython = (code, _globals, options) => {
    seen.push(options);
    if (code === "raise") return bad("error");
    if (code === "print") options.onOutput?.("stdout", "hi\n");
    if (code !== "sleep") return ok();
    const { promise, reject } = Promise.withResolvers<never>();
    options.signal?.addEventListener("abort", () => reject(options.signal?.reason));
    return promise;
  };
  return { python, seen };
}

Deno.test("POST /v1/exec runs a program in a session of its own, which then ends", async () => {
  const { python, seen } = recorder();
  await using server = served({ python });
  const request = {
    code: "raise",
    timeoutMs: 500,
    stdin: "in",
    inputs: { x: 1 },
    files: { "a.txt": "aGk=" },
  };
  const { status, body } = await server.send("POST", "/v1/exec", { ...request, fetchFiles: ["b.txt"] });
  assertEquals([status, body.status, body.error.type], [200, "error", "ValueError"]);
  const [options] = seen;
  assertEquals([options?.timeoutMs, options?.stdin, options?.inputs, options?.fetchFiles], [500, "in", {
    x: 1,
  }, [
    "b.txt",
  ]]);
  assertEquals(options?.files, { "a.txt": new TextEncoder().encode("hi") });
  assertEquals(server.pool.alive, 0);
  assertEquals((await server.send("GET", "/v1/sessions")).body.sessions, []);
});

Deno.test("POST /v1/exec waits for a session and fails with 504 when none is free", async () => {
  await using server = served({ maxSessions: 1, waitMs: 30 });
  await server.send("POST", "/v1/sessions", {});
  const { status, body, headers } = await server.send("POST", "/v1/exec", { code: "1" });
  assertEquals([status, body.error.type, headers.has("retry-after")], [504, "timeout", true]);
});

Deno.test("POST /v1/exec/stream streams output and the result, and releases the session", async () => {
  const { python } = recorder();
  await using server = served({ python });
  const { status, headers, body } = await server.send("POST", "/v1/exec/stream", { code: "print" });
  assertEquals([status, headers.get("content-type")], [200, "text/event-stream"]);
  const [output, result] = body.split("\n\n");
  assertEquals(output, 'event: stdout\ndata: {"text":"hi\\n"}');
  assertStringIncludes(result, 'event: result\ndata: {"status":"ok"');
  assertEquals(server.pool.alive, 0);
});

Deno.test("POST /v1/exec/stream releases the session when its client disconnects", async () => {
  const { python } = recorder();
  await using server = served({ python });
  const response = await server.app.request("/v1/exec/stream", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"code":"sleep"}',
  });
  assertEquals(server.pool.alive, 1);
  await response.body?.cancel();
  while (server.pool.alive > 0) await new Promise((resolve) => setTimeout(resolve, 1));
});

Deno.test("limits of a session are the defaults and maxima of its programs", async () => {
  const { python, seen } = recorder();
  await using server = served({ python });
  const wish = { limits: { memoryBytes: 100_000_000 } };
  assertStringIncludes((await server.send("POST", "/v1/sessions", wish)).body.error.message, "cannot be set");
  Object.assign(server.pool, { limits: { memoryBytes: 200_000_000, outputBytes: 1000 } });
  const limits = { timeoutMs: 2_000, memoryBytes: 100_000_000 };
  const created = await server.send("POST", "/v1/sessions", { limits });
  assertEquals([created.status, created.body.limits], [201, limits]);
  const path = `/v1/sessions/${created.body.id}/exec`;
  await server.send("POST", path, { code: "1" });
  await server.send("POST", path, { code: "1", timeoutMs: 50 });
  assertEquals(seen.map(({ timeoutMs, memoryBytes }) => [timeoutMs, memoryBytes]), [
    [2_000, 100_000_000],
    [50, 100_000_000],
  ]);
  const { status, body } = await server.send("POST", path, { code: "1", timeoutMs: 2_001 });
  assertEquals([status, body.error.message], [
    422,
    "timeoutMs must be at most 2000, the limit of the session: current value is 2001",
  ]);
  await server.send("POST", "/v1/exec", { code: "1", limits: { memoryBytes: 90_000_000 } });
  assertEquals(seen.at(-1)?.memoryBytes, 90_000_000);
});

Deno.test("a limit above that of the server is refused with the bound", async () => {
  await using server = served();
  Object.assign(server.pool, { limits: { memoryBytes: 200_000_000, outputBytes: 1000 } });
  const cases: [unknown, string][] = [
    [
      { memoryBytes: 200_000_001 },
      "limits.memoryBytes must be at most 200000000, the limit of the server's profile",
    ],
    [{ memoryBytes: 1 }, "at least 67108864"],
    [{ memoryBytes: 1.5e8 + 0.5 }, "limits.memoryBytes"],
    [{ timeoutMs: 3_600_001 }, "at most 3600000"],
    [{ timeoutMs: 1e308 }, "at most 3600000"],
    [{ timeoutMs: 0 }, "limits.timeoutMs: must be more than 0"],
    [{ timeoutMs: "5" }, "must be a number"],
    [{ cpus: 64 }, "unknown key"],
    [5, "must be an object"],
  ];
  for (const [limits, message] of cases) {
    for (const [path, body] of [["/v1/sessions", { limits }], ["/v1/exec", { code: "1", limits }]] as const) {
      const response = await server.send("POST", path, body);
      assertEquals(response.status, 422, JSON.stringify(limits));
      assertStringIncludes(response.body.error.message, message);
    }
  }
  assertEquals(server.pool.most, 0);
});

Deno.test("a session ends after its ttlSeconds, also while a program runs", async () => {
  const { python } = recorder();
  await using server = served({ python });
  const { body } = await server.send("POST", "/v1/sessions", { ttlSeconds: 1 });
  assertEquals(new Date(body.expiresAt).getTime() - new Date(body.createdAt).getTime(), 1_000);
  const session = server.sessions.directory.find(body.id, "");
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  assertEquals(session.ended, true);
  const { status } = await server.send("POST", `/v1/sessions/${body.id}/exec`, { code: "1" });
  assertEquals([status, server.pool.alive], [404, 0]);
});

Deno.test("a session with ttlSeconds stays when it is idle, and then gives way to another one", async () => {
  await using server = served({ maxSessions: 1, idleMs: 40, waitMs: 5_000 });
  const { body: { id } } = await server.send("POST", "/v1/sessions", { ttlSeconds: 60 });
  await new Promise((resolve) => setTimeout(resolve, 100));
  assertEquals((await server.send("GET", `/v1/sessions/${id}`)).status, 200);
  assertEquals((await server.send("POST", "/v1/exec", { code: "1" })).status, 200);
  assertEquals((await server.send("GET", `/v1/sessions/${id}`)).status, 404);
});

Deno.test("wrong ttlSeconds are refused with the bound", async () => {
  await using server = served();
  for (
    const [ttl, message] of [["0", "at least 1"], ["-1", "at least 1"], ["86401", "at most 86400"], [
      "1e308",
      "at most 86400",
    ]]
  ) {
    const { status, body } = await server.send("POST", "/v1/sessions", `{"ttlSeconds": ${ttl}}`);
    assertEquals(status, 422, ttl);
    assertStringIncludes(body.error.message, message ?? "");
  }
  for (const [ttl, status] of [["NaN", 400], ["1e999", 422], ['"60"', 422], ["null", 422], ["[60]", 422]]) {
    assertEquals(
      (await server.send("POST", "/v1/sessions", `{"ttlSeconds": ${ttl}}`)).status,
      status,
      `${ttl}`,
    );
  }
  assertEquals(server.pool.most, 0);
});

Deno.test("metadata of a session is returned by get and list, and filters the list", async () => {
  await using server = served({ maxSessions: 3 });
  const ids = [];
  for (const metadata of [{ user: "ada", run: "1 & 2" }, { user: "ada" }, undefined]) {
    const { body } = await server.send("POST", "/v1/sessions", { metadata });
    assertEquals(body.metadata, metadata);
    ids.push(body.id);
  }
  const [first, second] = ids;
  assertEquals((await server.send("GET", `/v1/sessions/${first}`)).body.metadata, {
    user: "ada",
    run: "1 & 2",
  });
  const list = async (metadata: Record<string, string>) => {
    const query = new URLSearchParams({ metadata: new URLSearchParams(metadata).toString() });
    const { body } = await server.send("GET", `/v1/sessions?${query}`);
    return body.sessions.map(({ id }: { id: string }) => id);
  };
  assertEquals(await list({}), ids);
  assertEquals(await list({ user: "ada" }), [first, second]);
  assertEquals(await list({ user: "ada", run: "1 & 2" }), [first]);
  assertEquals(await list({ user: "eve" }), []);
  assertEquals(await list({ toString: "x" }), []);
});

Deno.test("hostile metadata is refused with the bound, or kept as plain text", async () => {
  await using server = served();
  const entries = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, ""]));
  const cases: [unknown, string][] = [
    [entries(33), "metadata: must have at most 32 entries: found 33"],
    [entries(50_000), "must have at most 32 entries: found 50000"],
    [{ ["k".repeat(65)]: "" }, "a key must have 1 to 64 characters: found one of 65"],
    [{ ["k".repeat(1_000_000)]: "" }, "a key must have 1 to 64 characters"],
    [{ "": "x" }, "a key must have 1 to 64 characters: found one of 0"],
    [{ k: "é".repeat(2_048) }, "metadata: must have at most 4096 bytes: found 4097"],
    [{ k: 1 }, "metadata.k: must be a string: found 1"],
    [{ k: { nested: "x" } }, "metadata.k: must be a string"],
    [["x"], "metadata: must be an object: found a list"],
  ];
  for (const [metadata, message] of cases) {
    const { status, body } = await server.send("POST", "/v1/sessions", { metadata });
    assertEquals(status, 422);
    assertStringIncludes(body.error.message, message);
    assert(body.error.message.length < 500);
  }
  const text = '{"metadata": {"__proto__": "x", "constructor": "y", "\\u0000": "z"}}';
  const { status, body } = await server.send("POST", "/v1/sessions", text);
  assertEquals([status, body.metadata.constructor], [201, "y"]);
  assertEquals((await server.send("GET", "/v1/sessions?metadata=a%3D1%26a%3D2")).status, 422);
  assertEquals((await server.send("GET", `/v1/sessions?metadata=${"x".repeat(17_000)}`)).status, 422);
  assertMatch((await server.send("GET", "/v1/sessions?metdata=x")).body.error.message, /metdata/);
});

Deno.test("wrong values of checkpointEvery, seed and from are refused with what they must be", async () => {
  await using server = served();
  const every = 'checkpointEvery: must be "exec", or > 0 and <= 86400 seconds';
  const id = "0".repeat(64);
  const cases: [string, number, string][] = [
    ['{"checkpointEvery": 0}', 422, "checkpointEvery: must be more than 0"],
    ['{"checkpointEvery": -1}', 422, "checkpointEvery: must be more than 0"],
    ['{"checkpointEvery": 86401}', 422, "checkpointEvery: must be at most 86400"],
    ['{"checkpointEvery": 1e999}', 422, every],
    ['{"checkpointEvery": "block"}', 422, every],
    ['{"checkpointEvery": "5"}', 422, every],
    ['{"checkpointEvery": true}', 422, every],
    ['{"checkpointEvery": null}', 422, every],
    ['{"checkpointEvery": ["exec"]}', 422, every],
    ['{"checkpoint_every": "exec"}', 422, "unknown key"],
    ['{"seed": 0.5}', 422, "seed: must be a whole number"],
    ['{"seed": 1e20}', 422, "seed: "],
    ['{"seed": "1"}', 422, "seed: must be a number"],
    ['{"from": "x"}', 422, "from: must be 64 hexadecimal digits"],
    [`{"from": "${id.replace("0", "G")}"}`, 422, "from: must be 64 hexadecimal digits"],
    [`{"from": ["${id}"]}`, 422, "from: must be a string"],
    [`{"from": "${id}", "seed": 1}`, 422, "only one of seed and from may be given"],
    [`{"from": "${id}"}`, 404, "There is no such checkpoint"],
    [`{"from": "${id}", "checkpointEvery": "exec"}`, 404, "There is no such checkpoint"],
  ];
  for (const [request, status, message] of cases) {
    const response = await server.send("POST", "/v1/sessions", request);
    assertEquals(response.status, status, `${request}: ${JSON.stringify(response.body)}`);
    assertStringIncludes(response.body.error.message, message);
  }
  assertEquals(server.pool.most, 0);
});
