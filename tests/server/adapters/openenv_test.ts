import { assertEquals, assertStringIncludes } from "@std/assert";
import { answerMessage } from "../../../src/server/adapters/openenv/env_messages.ts";
import { CodingEnv } from "../../../src/server/adapters/openenv/coding_env.ts";
import { HttpServer } from "../../../src/server/http_server.ts";
import { withPython } from "../served.ts";

const nothing = { stdout: "", stderr: "", exit_code: 0 };
const { signal } = new AbortController();

Deno.test("OpenEnv's paths serve the coding env, with an env for each request", async () => {
  await withPython(async ({ ask, sessions }) => {
    assertEquals((await ask("POST", "/reset", { seed: 1, episode_id: "e", more: 1 })).body, {
      ...{ observation: nothing, reward: null, done: false },
    });
    assertEquals((await ask("POST", "/step", { action: { code: "print('hi')" }, timeout_s: 5 })).body, {
      ...{ observation: { stdout: "hi\n", stderr: "", exit_code: 0 }, reward: null, done: false },
    });
    const { body: raised } = await ask("POST", "/step", { action: { code: "1 / 0" } });
    assertEquals(raised.observation.exit_code, 1);
    assertStringIncludes(raised.observation.stderr, "ZeroDivisionError");
    const { body: late } = await ask("POST", "/step", { action: { code: "while 1: 0" }, timeout_s: 0.3 });
    assertEquals(late.observation.exit_code, 124);
    assertEquals((await ask("POST", "/step", { action: { tokens: [1] } })).status, 422);
    assertEquals((await ask("POST", "/reset", { seed: -1 })).status, 422);
    assertEquals((await ask("GET", "/state")).body, { episode_id: null, step_count: 0, last_exit_code: 0 });
    assertEquals((await ask("GET", "/health")).body, { status: "healthy" });
    const { body: metadata } = await ask("GET", "/metadata");
    assertEquals(Object.keys(metadata), [
      ...["name", "description", "readme_content", "version", "author", "documentation_url"],
    ]);
    const { body: schema } = await ask("GET", "/schema");
    assertEquals(Object.keys(schema), ["action", "observation", "state"]);
    assertEquals(Object.keys(schema.action.properties), ["code", "metadata"]);
    assertEquals((await ask("GET", "/ws")).status, 426);
    assertEquals(sessions.list(""), []);
  });
});

Deno.test("a connection of OpenEnv's is one episode, and each message has an answer", async () => {
  await withPython(async ({ sessions }) => {
    await using env = new CodingEnv(sessions, { owner: "", signal });
    const send = async (message: unknown) => {
      const text = typeof message === "string" ? message : JSON.stringify(message);
      return JSON.parse(await answerMessage(env, text) ?? "null");
    };
    const first = { observation: nothing, reward: null, done: false };
    assertEquals(await send({ type: "reset", data: { episode_id: "e" } }), {
      type: "observation",
      data: first,
    });
    await send({ type: "step", data: { code: "x = 41" } });
    const { data } = await send({ type: "step", data: { code: "print(x + 1)", metadata: {} } });
    assertEquals(data.observation, { stdout: "42\n", stderr: "", exit_code: 0 });
    await send({ type: "step", data: { code: "raise SystemExit(3)" } });
    assertEquals(await send({ type: "state" }), {
      ...{ type: "state", data: { episode_id: "e", step_count: 3, last_exit_code: 3 } },
    });
    await send({ type: "reset" });
    assertEquals((await send({ type: "step", data: { code: "x" } })).data.observation.exit_code, 1);
    const code = async (message: unknown) => (await send(message)).data.code;
    assertEquals(await code("{"), "INVALID_JSON");
    assertEquals(await code({ type: "mcp", data: {} }), "UNKNOWN_TYPE");
    assertEquals(await code({ type: "toString" }), "UNKNOWN_TYPE");
    assertEquals(await code([]), "VALIDATION_ERROR");
    assertEquals(await code({ type: "step", data: { code: 1 } }), "VALIDATION_ERROR");
    assertEquals(await code({ type: "state", more: 1 }), "VALIDATION_ERROR");
    assertEquals(await answerMessage(env, '{"type":"close"}'), undefined);
  });
});

Deno.test("a connection that finds no room is told so", async () => {
  await withPython(async ({ sessions }) => {
    await using _taken = await sessions.create({ owner: "b", signal });
    await using env = new CodingEnv(sessions, { owner: "", signal });
    const { data } = JSON.parse(await answerMessage(env, '{"type":"reset"}') ?? "");
    assertEquals(data.code, "CAPACITY_REACHED");
  }, { maxSessions: 1, queue: 0 });
});

Deno.test("/ws is a socket with an env of its own, which ends with it", async () => {
  await withPython(async ({ app, sessions }) => {
    await using server = new HttpServer((request) => app.fetch(request), {
      ...{ hostname: "127.0.0.1", port: 0, onGraceOver: () => sessions[Symbol.asyncDispose]() },
    });
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`);
    const answers: { data: { observation: { stdout: string } } }[] = [];
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: "step", data: { code: "x = 7" } }));
      socket.send(JSON.stringify({ type: "step", data: { code: "print(x)" } }));
      socket.send(JSON.stringify({ type: "close" }));
    };
    socket.onmessage = ({ data }) => answers.push(JSON.parse(data));
    socket.onclose = () => resolve();
    await closed;
    assertEquals(answers.map(({ data }) => data.observation.stdout), ["", "7\n"]);
    while (sessions.list("").length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});
