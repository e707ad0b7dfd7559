import { assertEquals, assertStringIncludes } from "@std/assert";
import { SandboxError } from "../../src/errors.ts";
import { Budgets } from "../../src/server/admission/budget.ts";
import { HttpServer } from "../../src/server/http/http_server.ts";
import { FakePool, type FakePython, ok } from "../fake_pool.ts";
import { served } from "./served.ts";
import { withPython } from "./with_python.ts";

const HEADERS = "Host: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n";

/** Sends raw bytes and returns the status and the last line of the response. */
async function sendRaw(port: number, request: string): Promise<[string, string]> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(request));
  const lines = (await new Response(connection.readable).text()).trimEnd().split("\r\n");
  return [lines[0]?.split(" ")[1] ?? "", lines.at(-1) ?? ""];
}

Deno.test("a server handles malformed requests without an internal error", async () => {
  await using server = served();
  const { app, sessions, errors } = server;
  await using http = await HttpServer.listen((request, connection) => app.fetch(request, connection), {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver: () => sessions[Symbol.asyncDispose](),
  });
  const status = async (line: string, more = "", body = "") =>
    (await sendRaw(http.port, `${line} HTTP/1.1\r\n${HEADERS}${more}\r\n${body}`))[0];
  const socket = "Upgrade: websocket\r\n";
  assertEquals(
    await Promise.all([
      ...["%E0%A4%A", "%00", "..%2f..", "%ff%fe"].map((id) => status(`GET /v1/sessions/${id}`)),
      ...["/sessions/%ff%fe", "/contexts/%ff%fe", "/v1/envs/%ff"].map((path) => status(`DELETE ${path}`)),
    ]),
    ["404", "404", "404", "404", "404", "404", "404"],
  );
  assertEquals(
    await status("POST /run_code", "Content-Encoding: gzip\r\nContent-Length: 2\r\n", "{}"),
    "415",
  );
  assertEquals(await status("TRACE /v1/sessions"), "405");
  assertEquals(await Promise.all(["PUT /v1/sessions", "PUT /v1/none"].map((line) => status(line))), [
    "405",
    "404",
  ]);
  const allow = async (path: string) => (await app.request(path, { method: "PUT" })).headers.get("allow");
  assertEquals([await allow("/v1/sessions/x"), await allow("/v1/envs/step:batch")], ["GET, DELETE", "POST"]);
  assertEquals(await status("GET /v1/sessions", "Content-Length: 2\r\n", "{}"), "200");
  assertEquals(await status("POST /v1/sessions", "Content-Length: 4\r\n", "null"), "422");
  assertEquals(await status("POST /v1/sessions", "Content-Length: 16\r\n", '{"__proto__":{}}'), "422");
  assertEquals(await status("POST /v1/exec:batch", "Content-Length: 2\r\n", "\xff"), "400");
  assertEquals(await status("GET /ws", socket), "400");
  assertEquals(errors, []);
  assertEquals(sessions.directory.list(""), []);
});

Deno.test("a server hides internal error messages from clients and reports each error once", async () => {
  const bug = () => new TypeError("Cannot read properties of undefined (reading '/home/me')");
  const python: FakePython = () => Promise.reject(bug());
  await using server = served({ python });
  const { send, errors } = server;
  const { body: { id } } = await send("POST", "/v1/sessions", {});
  const piston = { language: "python", version: "3", files: [{ content: "1" }] };
  const { body: env } = await send("POST", "/v1/envs", { tasks: [{ query: "?" }] });
  await send("POST", `/v1/envs/${env.id}/reset`, {});
  const responses = [
    await send("POST", `/v1/sessions/${id}/exec`, { code: "1" }),
    await send("POST", `/v1/sessions/${id}/stream`, { code: "1" }),
    await send("DELETE", `/v1/sessions/${id}`),
    await send("POST", "/v1/exec:batch", { items: [{ code: "1" }] }),
    await send("POST", `/v1/envs/${env.id}/step`, { reply: "```python\n1\n```" }),
    await send("DELETE", `/v1/envs/${env.id}`),
    await send("POST", "/run_code", { code: "1" }),
    await send("POST", "/run_jupyter", { cells: ["1"] }),
    await send("POST", "/api/v2/execute", piston),
    await send("POST", "/execute", { code: "1" }),
    await send("POST", "/execute", { generated_code: "1", language: "python" }),
    await send("POST", "/step", { action: { code: "1" } }),
  ];
  assertEquals(JSON.stringify(responses).includes("/home/me"), false);
  assertEquals(errors.length, 10);
  assertEquals(errors.every((fault) => fault instanceof Error), true);
});

Deno.test("an incomplete body is a client error", async () => {
  await using server = served();
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error("disconnected")) });
  const { status } = await server.app.request("/run_code", { method: "POST", body });
  assertEquals([status, server.errors], [400, []]);
});

Deno.test("a server that holds too many bodies responds with 504 to /run_code, as its clients retry that", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using server = served({
    python: async () => (await promise, ok()),
    budgets: new Budgets({ bytes: 800 }),
  });
  const long = { code: "1".repeat(60) };
  const first = server.send("POST", "/run_code", long);
  while (server.pool.ran.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const second = await server.send("POST", "/run_code", long);
  assertEquals([second.status, second.headers.get("retry-after")], [504, "1"]);
  resolve();
  assertEquals((await first).status, 200);
  assertEquals((await server.send("POST", "/run_code", long)).status, 200);
});

Deno.test("a request that waits for a session of another request gets one when that request is cancelled", async () => {
  const pool = new FakePool();
  const opening = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  let asked = 0;
  await using server = served({
    pool: {
      async acquire({ signal } = {}) {
        if (++asked > 1) return await pool.acquire();
        first.resolve();
        await Promise.race([
          opening.promise,
          new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
        ]);
        return await pool.acquire();
      },
    },
  });
  const disconnect = new AbortController();
  const { sessions } = server;
  const left = sessions.openNamed("a", { owner: "", signal: disconnect.signal }).catch(({ code }) => code);
  await first.promise;
  const stays = sessions.openNamed("a", { owner: "", signal: new AbortController().signal });
  disconnect.abort();
  assertEquals(await left, "unavailable");
  assertEquals((await stays).isNew, true);
  assertEquals([pool.alive, sessions.directory.list("").length], [1, 1]);
});

Deno.test("deleting a session aborts its program and frees its slot", async () => {
  await withPython(async ({ send, app }) => {
    const { body: { id } } = await send("POST", "/v1/sessions", {});
    const stream = await app.request(`/v1/sessions/${id}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: "print('on', flush=True)\nwhile True: pass", timeoutMs: 600_000 }),
    });
    const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    assertStringIncludes((await events?.read())?.value ?? "", "event: stdout");
    assertEquals((await send("DELETE", `/v1/sessions/${id}`)).status, 204);
    const rest: string[] = [];
    for (let part = await events?.read(); part?.value !== undefined; part = await events?.read()) {
      rest.push(part.value);
    }
    assertStringIncludes(rest.join(""), "The session has ended");
    assertEquals((await send("POST", "/run_code", { code: "print(1)" })).body.status, "Success");
  }, { maxSessions: 1 });
});

Deno.test("a failed sandbox is also reported for a stream", async () => {
  const failed = new SandboxError("Cannot start '/home/me'");
  await using server = served({ python: () => Promise.reject(failed) });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const { body } = await server.send("POST", `/v1/sessions/${id}/stream`, { code: "1" });
  assertStringIncludes(body, "The sandbox failed");
  assertEquals(server.errors, [failed]);
});
