import * as z from "zod";
import { assertEquals, assertMatch, assertObjectMatch, assertStringIncludes } from "@std/assert";
import { exactMatch, loadProfile, numberMatch, patternMatch, SandboxPool } from "../../mod.ts";
import { SandboxError } from "../../src/errors.ts";
import { bad, type FakePython, ok } from "../fake_pool.ts";
import { type Served, served } from "./served.ts";
import { HANG_MS } from "../deadline.ts";

/** Counts in the variable `n`. The program `sleep` runs until it is aborted. */
const python: FakePython = (code, globals, { signal, onOutput }) => {
  if (code === "n += 1") globals.set("n", (globals.get("n") ?? 0) + 1);
  if (code === "raise") return bad("error", { stderr: "Traceback …" });
  if (code === "say") onOutput?.("stdout", "hi\n");
  if (code !== "sleep") return ok("", { value: String(globals.get("n") ?? 0) });
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => reject(signal.reason));
  return promise;
};

Deno.test("/v1 opens, lists, resets and ends a session and runs programs in it", async () => {
  await using server = served({ python });
  const created = await server.send("POST", "/v1/sessions", {});
  assertEquals(created.status, 201);
  assertEquals(created.body.id.length, 32);
  const path = `/v1/sessions/${created.body.id}`;
  await server.send("POST", `${path}/exec`, { code: "n += 1" });
  const again = await server.send("POST", `${path}/exec`, { code: "n += 1", timeoutMs: 500 });
  assertEquals(again.body, {
    status: "ok",
    stdout: "",
    stderr: "",
    durationMs: 1,
    stateKept: true,
    truncated: false,
    value: "2",
  });
  const { body } = await server.send("GET", "/v1/sessions");
  assertEquals(body.sessions.map(({ id, execs }: { id: string; execs: number }) => [id, execs]), [
    [created.body.id, 2],
  ]);
  assertEquals((await server.send("POST", `${path}/reset`, { mode: "rewind" })).status, 204);
  assertObjectMatch((await server.send("POST", `${path}/exec`, { code: "n" })).body, { value: "0" });
  assertEquals((await server.send("DELETE", path)).status, 204);
  assertEquals((await server.send("GET", path)).body, {
    error: { type: "not_found", message: "There is no such session" },
  });
  assertEquals(server.pool.alive, 0);
});

Deno.test("/v1 returns the failure of a program as a result", async () => {
  await using server = served({ python });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const { status, body } = await server.send("POST", `/v1/sessions/${id}/exec`, { code: "raise" });
  assertEquals(status, 200);
  assertObjectMatch(body, { status: "error", error: { type: "ValueError" }, stderr: "Traceback …" });
});

Deno.test("/v1 streams output as events and the result as the last event", async () => {
  await using server = served({ python });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const { body, headers } = await server.send("POST", `/v1/sessions/${id}/stream`, { code: "say" });
  assertEquals(headers.get("content-type"), "text/event-stream");
  const events = body.trimEnd().split("\n\n");
  assertEquals(events[0], 'event: stdout\ndata: {"text":"hi\\n"}');
  assertStringIncludes(events[1], 'event: result\ndata: {"status":"ok"');
  assertEquals(events.length, 2);
});

Deno.test("/v1 aborts a streamed program when its client disconnects", async () => {
  await using server = served({ python });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const response = await server.app.request(`/v1/sessions/${id}/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"code":"sleep"}',
  });
  await response.body?.cancel();
  const { body } = await server.send("POST", `/v1/sessions/${id}/exec`, { code: "n" });
  assertObjectMatch(body, { status: "ok" });
});

Deno.test("/v1 writes and reads files", async () => {
  await using server = served({ python });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const path = `/v1/sessions/${id}`;
  assertEquals((await server.send("POST", `${path}/files`, { files: { "a.txt": "aGk=" } })).body, {
    written: 1,
  });
  assertEquals((await server.send("GET", `${path}/file?path=a.txt`)).body, "hi");
  assertEquals((await server.send("GET", `${path}/file?path=b.txt`)).status, 404);
  assertEquals((await server.send("POST", `${path}/files`, { files: { "a.txt": "%" } })).status, 422);
});

Deno.test("/v1 runs shell commands if the profile has a shell, and refuses them otherwise", async () => {
  await using pool = new SandboxPool({ profile: await loadProfile("workspace"), size: 1 });
  await using server = served({ pool, maxSessions: 1 });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const run = async (command: string, stdin?: string) =>
    (await server.send("POST", `/v1/sessions/${id}/shell`, { command, stdin })).body;
  assertObjectMatch(await run("mkdir d && cd d && cat > a", "hi"), { status: "ok", exitCode: 0 });
  assertObjectMatch(await run("pwd; cat a; false"), {
    status: "exited",
    exitCode: 1,
    stdout: "/home/pyodide/d\nhi",
    cwd: "/home/pyodide/d",
  });
  await using other = served({ python });
  const { body: opened } = await other.send("POST", "/v1/sessions", {});
  const refused = await other.send("POST", `/v1/sessions/${opened.id}/shell`, { command: "ls" });
  assertEquals([refused.status, refused.body.error.type], [422, "invalid"]);
});

Deno.test("/v1/exec:batch returns outcomes in order, each with its own status", async () => {
  await using server = served({ python });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const items = [
    { code: "n += 1", session: id },
    { code: "raise" },
    { code: "n", session: "none" },
    { code: "n += 1", session: id },
    { code: "n" },
    { code: "n" },
  ];
  const { status, body } = await server.send("POST", "/v1/exec:batch", { items });
  assertEquals(status, 200);
  // deno-lint-ignore no-explicit-any
  const outcomes = body.results.map(({ status, result, error }: any) => [
    status,
    result?.value ?? result?.status ?? error.type,
  ]);
  assertEquals(outcomes, [[200, "1"], [200, "error"], [404, "not_found"], [200, "2"], [200, "0"], [
    200,
    "0",
  ]]);
  assertEquals([server.pool.alive, server.pool.most], [1, 2]);
});

/** Returns the status of each program of a batch. */
async function statusesOf(server: Served, items: object[]): Promise<number[]> {
  const { body } = await server.send("POST", "/v1/exec:batch", { items });
  return body.results.map(({ status }: { status: number }) => status);
}

Deno.test("/v1/exec:batch runs no further program when its response is too large", async () => {
  const large = "x".repeat(40 << 20);
  await using server = served({ python: () => ok(large), maxSessions: 1 });
  const items = Array.from({ length: 4 }, () => ({ code: "1" }));
  assertEquals(await statusesOf(server, items), [200, 200, 413, 413]);
});

Deno.test("/v1/exec:batch runs no further program when its values have more than a million parts", async () => {
  const valueJson = Array.from({ length: 600_000 }, () => 0);
  await using server = served({ python: () => ok("", { valueJson }), maxSessions: 1 });
  const items = Array.from({ length: 4 }, () => ({ code: "1" }));
  assertEquals(await statusesOf(server, items), [200, 200, 413, 413]);
});

Deno.test({ name: "/v1/exec:batch waits in the queue once", timeout: HANG_MS }, async () => {
  await using server = served({ maxSessions: 1, waitMs: 1_000 });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const items = [...Array.from({ length: 1000 }, () => ({ code: "1" })), { code: "1", session: id }];
  assertEquals(new Set(await statusesOf(server, items)), new Set([504, 200]));
});

Deno.test("/v1/grade stops a grade at its deadline; other owners, other requests and envs are served meanwhile", async () => {
  const graders = new Map([
    ["slow", () => patternMatch({ pattern: /^(a+)+$/ })],
    ["exact_match", () => exactMatch()],
  ]);
  const [hostile, honest] = ["the token of the hostile", "the token of the honest"];
  const tokens = [hostile, honest];
  await using server = served({ graders, tokens, graderLimits: { deadlineMs: 300 } });
  const as = (token: string) => ({ authorization: `Bearer ${token}` });
  const content = `${"a".repeat(60)}!`;
  const grade = (grader: string, token: string) => {
    const body = { grader, task: { answer: content }, messages: [{ role: "assistant", content }] };
    return server.send("POST", "/v1/grade", body, as(token));
  };
  const ended: string[] = [];
  const bombs = [1, 2, 3].map(async () => {
    const { status, body } = await grade("slow", hostile);
    const reason = "deadline exceeded: the grade took more than 300 ms";
    assertEquals([status, body], [200, { score: null, reason }]);
    ended.push("hostile");
  });
  assertEquals((await grade("exact_match", honest)).body, { score: 1 });
  ended.push("honest");
  await Promise.all(bombs);
  assertEquals(ended[0], "honest");

  const { body: { id } } = await server.send("POST", "/v1/envs", { grader: "slow" }, as(honest));
  await server.send("POST", `/v1/envs/${id}/reset`, { task: { query: "?" } }, as(honest));
  const step = await server.send("POST", `/v1/envs/${id}/step`, { reply: content }, as(honest));
  assertEquals([step.body.terminated, step.body.reward, step.body.rewardParts], [true, null, {
    pattern_match: null,
  }]);
});

Deno.test("/v1/grade returns scores, including null, and /v1/graders lists the graders", async () => {
  await using server = served({ graders: new Map([["number_match", () => numberMatch()]]) });
  const grade = (grader: string, answer?: string | number | boolean) =>
    server.send("POST", "/v1/grade", {
      grader,
      task: { answer },
      messages: [{ role: "assistant", content: "It is 42." }],
    });
  assertEquals((await grade("number_match", "42")).body, { score: 1 });
  assertEquals((await grade("number_match", "41")).body, { score: 0 });
  assertEquals((await grade("number_match", 42)).body, { score: 1 });
  assertEquals((await grade("number_match", true)).status, 422);
  assertEquals((await grade("number_match")).body, { score: null });
  assertEquals((await grade("none")).body.error.message, "grader must be one of number_match");
  assertEquals((await grade("number_match", "4".repeat(1 << 21))).status, 413);
  const short = (body: object) => server.send("POST", "/v1/grade", { grader: "number_match", ...body });
  assertEquals((await short({ completion: "It is 42.", answer: 42 })).body, { score: 1 });
  assertEquals((await short({ completion: "It is 42.", task: { answer: "41" } })).body, { score: 0 });
  assertEquals((await short({ answer: "42" })).status, 422);
  assertEquals((await short({ completion: "42", answer: "42", task: { answer: "42" } })).status, 422);
  const both = { completion: "42", messages: [{ role: "assistant", content: "42" }] };
  assertEquals((await short(both)).body.error.message, "the request: give either 'messages' or 'completion'");
  assertEquals((await server.send("GET", "/v1/graders")).body, { graders: ["number_match"] });
});

Deno.test("/v1 reports invalid requests without host details", async (t) => {
  await using server = served({ python });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const path = `/v1/sessions/${id}/exec`;
  const deep = `{"code":${"[".repeat(100)}${"]".repeat(100)}}`;
  const responses = [
    await server.send("POST", path, { code: 1 }),
    await server.send("POST", path, { code: "n", nope: 1 }),
    await server.send("POST", path, "{"),
    await server.send("POST", path, deep),
    await server.send("POST", path, { code: "n", timeoutMs: 0 }),
    await server.send("POST", path),
    await server.send("POST", path, "code=n", { "content-type": "text/plain" }),
    await server.send("GET", "/nope"),
    await server.send("POST", path, { code: "n" }, { "x-long": "a".repeat(20_000) }),
  ];
  await t.assertSnapshot(responses.map(({ status, body }) => ({ status, body })));
});

Deno.test("a server in a program leaves zod's messages to the program", async () => {
  await using server = served({ python });
  assertEquals((await server.send("POST", "/v1/sessions", { nope: 1 })).status, 422);
  assertEquals(z.config().customError, undefined);
  const { error } = z.string().safeParse(5);
  assertEquals(error?.issues[0]?.message, "Invalid input: expected string, received number");
});

Deno.test("/v1 reports a failed sandbox and keeps the reason for the server's log", async () => {
  const failed = new SandboxError("Cannot start '/home/me/secret'");
  await using server = served({ pool: { acquire: () => Promise.reject(failed) } });
  const { status, body, headers } = await server.send("POST", "/v1/sessions", {});
  assertEquals([status, headers.get("retry-after")], [503, "1"]);
  assertEquals(body, { error: { type: "unavailable", message: "The sandbox failed" } });
  assertEquals(server.errors, [failed]);
});

Deno.test("the server describes itself", async () => {
  await using server = served({ python });
  assertObjectMatch((await server.send("GET", "/v1/health")).body, { status: "ok", format: 1 });
  await server.send("POST", "/v1/exec:batch", { items: [{ code: "n" }] });
  const { body: metrics } = await server.send("GET", "/metrics");
  assertStringIncludes(metrics, 'paddock_execs_total{status="ok"} 1\n');
  assertStringIncludes(metrics, "# TYPE paddock_sessions gauge\npaddock_sessions 0\n");
  const { body: api } = await server.send("GET", "/openapi.json");
  const { schemas } = api.components;
  assertEquals(schemas.Failure.properties.error.required, ["type", "message"]);
  assertEquals(schemas.Score.required, ["score"]);
  assertEquals(schemas.ExecResult.required.includes("value"), false);
  assertMatch("YWI=", new RegExp(schemas.Files.properties.files.additionalProperties.pattern));
  assertEquals(api.paths["/v1/sessions"].post.requestBody.required, false);
  assertEquals((await server.send("GET", "/")).status, 302);
});
