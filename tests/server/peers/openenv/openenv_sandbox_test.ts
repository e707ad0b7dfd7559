import { assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { EnvConnections } from "../../../../src/server/peers/openenv/routes.ts";
import { Budgets } from "../../../../src/server/admission/budget.ts";
import { ok } from "../../../fake_pool.ts";
import { handleMessage } from "../../../../src/server/peers/openenv/messages.ts";
import { chatKind } from "../../../../src/server/peers/openenv/chat_env.ts";
import { codingKind } from "../../../../src/server/peers/openenv/coding_env.ts";
import type { OpenEnvKind } from "../../../../src/server/peers/openenv/env_kind.ts";
import { HttpServer } from "../../../../src/server/http/http_server.ts";
import { tinyTokenizer } from "../../../tiny_tokenizer.ts";
import { served } from "../../served.ts";
import { withPython } from "../../with_python.ts";

const nothing = { stdout: "", stderr: "", exit_code: 0 };
const { signal } = new AbortController();

/** Sends messages to an env, as a connection does. */
function connect<Action>(kind: OpenEnvKind<Action>) {
  const { action } = kind;
  const env = kind.open({ owner: "", signal });
  return {
    // deno-lint-ignore no-explicit-any
    async send(message: unknown): Promise<any> {
      const text = typeof message === "string" ? message : JSON.stringify(message);
      return JSON.parse(await handleMessage({ env, action }, text) ?? "null");
    },
    [Symbol.asyncDispose]: () => env[Symbol.asyncDispose](),
  };
}

Deno.test("OpenEnv's routes serve the coding env, with a new env for each request", async () => {
  await withPython(async ({ send, sessions }) => {
    assertEquals((await send("POST", "/reset", { seed: 1, episode_id: "e", more: 1 })).body, {
      observation: nothing,
      reward: 0,
      done: false,
    });
    assertEquals((await send("POST", "/step", { action: { code: "print('hi')" }, timeout_s: 5 })).body, {
      observation: { stdout: "hi\n", stderr: "", exit_code: 0 },
      reward: 0.1,
      done: false,
    });
    const { body: raised } = await send("POST", "/step", { action: { code: "1 / 0" } });
    assertEquals(raised.observation.exit_code, 1);
    assertStringIncludes(raised.observation.stderr, "ZeroDivisionError");
    const { body: late } = await send("POST", "/step", { action: { code: "while 1: 0" }, timeout_s: 0.3 });
    assertEquals(late.observation.exit_code, 124);
    assertEquals((await send("POST", "/reset")).body.observation, nothing);
    assertEquals((await send("POST", "/step", { action: { tokens: [1] } })).status, 422);
    assertEquals((await send("POST", "/reset", { seed: -1 })).status, 422);
    assertEquals((await send("GET", "/state")).body, { episode_id: null, step_count: 0, last_exit_code: 0 });
    assertEquals((await send("GET", "/health")).body, { status: "healthy" });
    const { body: metadata } = await send("GET", "/metadata");
    assertEquals(Object.keys(metadata), [
      "name",
      "description",
      "readme_content",
      "version",
      "author",
      "documentation_url",
    ]);
    const { body: schema } = await send("GET", "/schema");
    assertEquals(Object.keys(schema), ["action", "observation", "state"]);
    assertEquals(Object.keys(schema.action.properties), ["code", "metadata"]);
    assertEquals((await send("GET", "/ws")).status, 426);
    assertEquals(sessions.directory.list(""), []);
  });
});

Deno.test("an OpenEnv connection keeps one episode and responds to each message", async () => {
  await withPython(async ({ sessions }) => {
    await using connection = connect(codingKind(sessions));
    const { send } = connection;
    const first = { observation: nothing, reward: 0, done: false };
    assertEquals(await send({ type: "reset", data: { episode_id: "e" } }), {
      type: "observation",
      data: first,
    });
    await send({ type: "step", data: { code: "x = 41" } });
    const { data } = await send({ type: "step", data: { code: "print(x + 1)", metadata: {} } });
    assertEquals(data.observation, { stdout: "42\n", stderr: "", exit_code: 0 });
    await send({ type: "step", data: { code: "raise SystemExit(3)" } });
    assertEquals(await send({ type: "state" }), {
      type: "state",
      data: { episode_id: "e", step_count: 3, last_exit_code: 3 },
    });
    await send({ type: "reset" });
    assertEquals((await send({ type: "step", data: { code: "x" } })).data.observation.exit_code, 1);
    const code = async (message: unknown) => (await send(message)).data.code;
    assertEquals(await send("{"), {
      type: "error",
      data: { message: "Invalid JSON", code: "INVALID_JSON" },
    });
    assertEquals(await send({ type: "toString" }), {
      type: "error",
      data: { message: "Unknown message type: toString", code: "UNKNOWN_TYPE" },
    });
    assertEquals(await code({ data: {} }), "UNKNOWN_TYPE");
    assertEquals(await code([]), "VALIDATION_ERROR");
    assertEquals((await send({ type: "step", data: { code: 1 } })).data, {
      message: "Invalid message",
      code: "VALIDATION_ERROR",
      errors: [{ type: "string_type", loc: ["code"], msg: "Input should be a valid string" }],
    });
    for (const type of ["reset", "step", "state", "close", "mcp"]) {
      assertEquals(await code({ type, data: { code: "1" }, more: 1 }), "VALIDATION_ERROR");
    }
    assertEquals(await code({ type: "reset", data: { seed: -1 } }), "VALIDATION_ERROR");
    assertEquals(await send({ type: "close" }), null);
  });
});

Deno.test("the coding env rewards the text of a program, as OpenEnv does", async () => {
  await withPython(async ({ send }) => {
    const reward = async (code: string) => (await send("POST", "/step", { action: { code } })).body.reward;
    assertEquals(await reward("1 / 0"), 0.1);
    assertEquals(await reward("import os"), -0.9);
    assertEquals(await reward(`open('x', 'w').write('${"x".repeat(100)}')`), -1);
    assertEquals(await reward("print('Hello'"), -0.1);
    assertEquals(await reward(`# ${"x".repeat(98)}\n`), 0.1);
    assertEquals(await reward(`# ${"x".repeat(99)}`), 0);
  });
});

Deno.test("an OpenEnv connection responds to JSON-RPC as an env without tools", async () => {
  await using server = served();
  await using connection = connect(codingKind(server.sessions));
  const error = async (data: object) => {
    const response = await connection.send({ type: "mcp", data });
    return [response.type, response.data.id, response.data.error.code, response.data.error.message];
  };
  const none = "Environment does not support MCP";
  assertEquals(await error({ jsonrpc: "2.0", id: 1, method: "tools/list" }), ["mcp", 1, -32603, none]);
  assertEquals(await error({ jsonrpc: "2.0", id: "a", method: "tools/call", params: { name: "x" } }), [
    "mcp",
    "a",
    -32603,
    none,
  ]);
  assertEquals(await error({ jsonrpc: "2.0", method: "x" }), ["mcp", null, -32601, "Method not found: x"]);
  assertEquals((await error({ method: "x", more: 1 }))[2], -32600);
});

Deno.test("/mcp distinguishes OpenEnv's JSON-RPC requests from the Model Context Protocol", async () => {
  await using server = served();
  const post = async (body: unknown, headers?: HeadersInit) => {
    const { status, body: response } = await server.send("POST", "/mcp", body, headers);
    return [status, response.jsonrpc, response.error.code];
  };
  assertEquals(await post({}), [200, "2.0", -32600]);
  assertEquals(await post("{"), [200, "2.0", -32700]);
  assertEquals(await post({ jsonrpc: "2.0", id: 1, method: "tools/list" }), [200, "2.0", -32603]);
  assertEquals(await post({ jsonrpc: "2.0", id: 1, method: "openenv/session/create" }), [200, "2.0", -32601]);
  const both = { accept: "application/json, text/event-stream" };
  assertEquals(await post({ jsonrpc: "2.0", id: 1, method: "tools/list" }, both), [400, "2.0", -32000]);
  assertEquals(await post({ jsonrpc: "2.0", id: 1, method: "initialize" }), [406, "2.0", -32000]);
});

Deno.test("OpenEnv's routes serve the chat env, which only appends tokens", async () => {
  const tokenizer = await tinyTokenizer();
  await using server = served({ openEnv: chatKind(tokenizer) });
  const empty = { observation: { messages: [], tokens: [] }, reward: null, done: false };
  assertEquals((await server.send("POST", "/reset")).body, empty);
  assertEquals((await server.send("GET", "/metadata")).body.name, "paddock_chat_env");
  const { body: schema } = await server.send("GET", "/schema");
  assertEquals(Object.keys(schema.action.properties), ["tokens", "metadata"]);
  assertEquals(Object.keys(schema.state.properties), [
    "episode_id",
    "step_count",
    "history_messages",
    "history_tokens",
  ]);
  const hello = tokenizer.encode("hello<|im_end|>");
  const one = await server.send("POST", "/step", { action: { tokens: hello, metadata: {} } });
  assertEquals(one.body, {
    observation: { messages: [{ role: "assistant", content: "hello" }], tokens: hello },
    reward: null,
    done: false,
  });
  const statuses = [];
  for (const tokens of [[], [-1], [1.5], ["1"], 7, [[]], [1e9]]) {
    statuses.push((await server.send("POST", "/step", { action: { tokens } })).status);
  }
  assertEquals(statuses, statuses.map(() => 422));
  await using connection = connect(chatKind(tokenizer));
  assertEquals((await connection.send({ type: "reset", data: { episode_id: "e" } })).data, empty);
  const the = tokenizer.encode(" the");
  await connection.send({ type: "step", data: { tokens: [hello] } });
  const { data } = await connection.send({ type: "step", data: { tokens: the } });
  assertEquals(data.observation.tokens, [...hello, ...the]);
  assertEquals((await connection.send({ type: "state" })).data, {
    episode_id: "e",
    step_count: 2,
    history_tokens: [hello, the],
    history_messages: [{ role: "assistant", content: "hello" }, { role: "assistant", content: " the" }],
  });
  const wrong = await connection.send({ type: "step", data: { tokens: [1e9] } });
  assertEquals([wrong.data.code, wrong.data.message], [
    "EXECUTION_ERROR",
    "tokens: unknown token 1000000000",
  ]);
  assertEquals(server.pool.most, 0);
});

Deno.test("an OpenEnv connection reports CAPACITY_REACHED when no session is free", async () => {
  await withPython(async ({ sessions }) => {
    await using _taken = await sessions.create({ owner: "b", signal });
    await using connection = connect(codingKind(sessions));
    const { data } = await connection.send({ type: "reset" });
    assertEquals(data.code, "CAPACITY_REACHED");
    assertStringIncludes(data.message, "start the server with more sessions");
  }, { maxSessions: 1, queue: 0 });
});

Deno.test("/ws gives each connection an env that ends with it", async () => {
  await withPython(async ({ app, sessions }) => {
    await using server = await HttpServer.listen((request, connection) => app.fetch(request, connection), {
      hostname: "127.0.0.1",
      port: 0,
      onGraceOver: () => sessions[Symbol.asyncDispose](),
    });
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`);
    const responses: { data: { observation: { stdout: string } } }[] = [];
    const { promise: closed, resolve } = Promise.withResolvers<number>();
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: "step", data: { code: "x = 7" } }));
      socket.send(JSON.stringify({ type: "step", data: { code: "print(x)" } }));
      socket.send(JSON.stringify({ type: "close" }));
    };
    socket.onmessage = ({ data }) => responses.push(JSON.parse(data));
    socket.onclose = ({ code }) => resolve(code);
    assertEquals(await closed, 1000);
    assertEquals(responses.map(({ data }) => data.observation.stdout), ["", "7\n"]);
    while (sessions.directory.list("").length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});

Deno.test("an OpenEnv connection reports an ended session and can be reset", async () => {
  await using server = served();
  await using connection = connect(codingKind(server.sessions));
  await connection.send({ type: "reset" });
  await server.sessions.directory.list("")[0]?.[Symbol.asyncDispose]();
  assertEquals((await connection.send({ type: "step", data: { code: "1" } })).data.code, "SESSION_ERROR");
  assertEquals((await connection.send({ type: "reset" })).type, "observation");
});

Deno.test("a server stops while WebSocket connections are open, idle or busy", async () => {
  const began = Promise.withResolvers<void>();
  await using served_ = served({
    python: (_, _globals, { signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal?.addEventListener("abort", () => reject(signal.reason));
      began.resolve();
      return promise;
    },
  });
  const { app, sessions } = served_;
  const server = await HttpServer.listen((request, connection) => app.fetch(request, connection), {
    hostname: "127.0.0.1",
    port: 0,
    graceMs: 50,
    onGraceOver: () => sessions[Symbol.asyncDispose](),
  });
  const url = `ws://127.0.0.1:${server.port}/ws`;
  const closed = ["step", "none"].map((what) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = new WebSocket(url);
    socket.onopen = () => {
      if (what === "step") socket.send(JSON.stringify({ type: "step", data: { code: "sleep" } }));
    };
    socket.onerror = (event) => event.preventDefault();
    socket.onclose = () => resolve();
    return promise;
  });
  await began.promise;
  await server[Symbol.asyncDispose]();
  await Promise.all(closed);
});

/** The server's end of a WebSocket, without a network. */
class FakeSocket {
  onmessage: ((event: { data: string }) => void) | undefined;
  onclose: (() => void) | undefined;
  readyState: number = WebSocket.OPEN;
  bufferedAmount = 0;
  readonly sent: string[] = [];

  send(text: string): void {
    this.sent.push(text);
  }

  close(): void {
    this.readyState = WebSocket.CLOSED;
    this.onclose?.();
  }
}

Deno.test("messages of an OpenEnv connection take memory until they are answered", async () => {
  const running = Promise.withResolvers<void>();
  await using server = served({ python: async () => (await running.promise, ok()) });
  const budgets = new Budgets({ bytes: 80_000 });
  const kind = codingKind(server.sessions);
  const socket = new FakeSocket();
  const env = kind.open({ owner: "", signal });
  new EnvConnections(budgets).serve(socket as unknown as WebSocket, { env, action: kind.action }, "");
  const step = (code: string) =>
    socket.onmessage?.({ data: JSON.stringify({ type: "step", data: { code } }) });
  step("1");
  step("#".repeat(10_000));
  const held = budgets.waiting.used();
  step("#".repeat(10_000));
  assertEquals([held > 30_000, budgets.waiting.used() - held], [true, 0]);
  running.resolve();
  while (socket.sent.length < 3) await delay(1);
  assertEquals(socket.sent.map((text) => JSON.parse(text).data.code), [
    undefined,
    undefined,
    "CAPACITY_REACHED",
  ]);
  assertStringIncludes(socket.sent[2] ?? "", "more buffer memory");
  assertEquals(budgets.waiting.used(), 0);
  socket.close();
});

Deno.test("a client of OpenEnv that does not read its responses has no further message handled", async () => {
  await using server = served();
  const budgets = new Budgets();
  const kind = codingKind(server.sessions);
  const socket = new FakeSocket();
  const env = kind.open({ owner: "", signal });
  new EnvConnections(budgets).serve(socket as unknown as WebSocket, { env, action: kind.action }, "");
  socket.bufferedAmount = 100_000;
  for (let count = 0; count < 3; count++) socket.onmessage?.({ data: '{"type":"state"}' });
  while (socket.sent.length < 1) await delay(1);
  await delay(30);
  assertEquals(socket.sent.length, 1);
  socket.bufferedAmount = 0;
  while (socket.sent.length < 3) await delay(1);
  socket.close();
});

Deno.test("the connections of one token leave room for another token", () => {
  const connections = new EnvConnections(new Budgets({ owners: 2 }));
  const kind = { open: () => ({ [Symbol.asyncDispose]: () => Promise.resolve() }) };
  const open = (owner: string) => {
    const socket = new FakeSocket();
    connections.serve(socket as unknown as WebSocket, { env: kind.open() } as never, owner);
    return socket;
  };
  const first = Array.from({ length: 800 }, () => open("a"));
  const refused = first.filter(({ sent }) => sent.length > 0);
  assertEquals([refused.length, JSON.parse(refused[0]?.sent[0] ?? "").data.code], [32, "CAPACITY_REACHED"]);
  assertEquals(open("b").sent, []);
  first[0]?.close();
  assertEquals(open("a").sent, []);
});
