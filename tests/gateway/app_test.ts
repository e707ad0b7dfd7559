import { assert, assertEquals, assertRejects } from "@std/assert";
import { numberMatch } from "../../src/rewards/text_match.ts";
import { GraderPool } from "../../src/rewards/worker/grader_pool.ts";
import { HttpServer } from "../../src/server/http/http_server.ts";
import { call } from "./scripted_model.ts";
import { eventsOf, OTHER_TOKEN, TestGateway, TOKEN } from "./open_gateway.ts";
import { requireExact } from "./exact_rows.ts";

const CHAT = "/v1/chat/completions";
const TOOL = {
  type: "function",
  function: { name: "add", description: "Adds.", parameters: { type: "object" } },
};
const chat = (messages: object[], more: object = {}) => ({ model: "tiny", messages, tools: [TOOL], ...more });
const user = (content: unknown) => ({ role: "user", content });

Deno.test("gateway answers chat completions, and the owner reads the row with the reward", async () => {
  const replies = [`<think>\nhm\n</think>\n\nI add.\n${call("add", '{"a": 1}')}`, "Done."];
  await using test = new TestGateway((_, count) => replies[count - 1] ?? "?");
  const { key, id, base_urls } = await test.open({
    task: { id: "sum", answer: 3 },
    sampling: { temperature: 0.5 },
  });
  assertEquals(base_urls, { openai: "http://localhost/v1", anthropic: "http://localhost" });
  const first = await (await test.send(CHAT, chat([user("add")], { temperature: 1, stop: "END" }), { key }))
    .json();
  const [choice] = first.choices;
  assertEquals([first.object, first.model, choice.index, choice.finish_reason], [
    "chat.completion",
    "tiny",
    0,
    "tool_calls",
  ]);
  assertEquals([choice.message.content, choice.message.reasoning_content], ["I add.", "hm"]);
  const [made] = choice.message.tool_calls;
  assertEquals([made.type, made.function.name, JSON.parse(made.function.arguments)], ["function", "add", {
    a: 1,
  }]);
  const tool = { role: "tool", tool_call_id: made.id, content: [{ type: "text", text: "3" }] };
  const back = { role: "assistant", content: "I add.", tool_calls: [made] };
  const second =
    await (await test.send(CHAT, chat([user([{ type: "text", text: "add" }]), back, tool]), { key })).json();
  assertEquals(second.choices[0].message, { role: "assistant", content: "Done." });
  assertEquals(second.usage.total_tokens, second.usage.prompt_tokens + second.usage.completion_tokens);
  const ended = await (await test.send(`/v1/gateway/sessions/${id}/reward`, { reward: 0.5 })).json();
  assertEquals([ended.status, ended.reward, ended.turns, ended.rows], ["completed", 0.5, 2, 1]);
  const rows = await test.rowsOf(id);
  requireExact(rows, test.model.sampled);
  assertEquals(rows, JSON.parse(JSON.stringify(test.rows)));
  assertEquals([rows[0]?.reward, rows[0]?.task_id, rows[0]?.status], [0.5, "sum", "completed"]);
  const { temperature, stop } = test.model.sampled[0]?.body.sampling_params;
  assertEquals([temperature, stop], [0.5, ["END"]]);
});

Deno.test("gateway streams chat completions with all parts, and the usage if it is asked for", async () => {
  await using test = new TestGateway(() => `Look.\n${call("add", '{"a": 1}')}`);
  const { key } = await test.open();
  const body = chat([user("add")], { stream: true, stream_options: { include_usage: true } });
  const response = await test.send(CHAT, body, { key });
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  const text = await response.text();
  assert(text.endsWith("data: [DONE]\n\n"));
  const chunks = eventsOf(text);
  assertEquals(chunks.map(({ choices: [choice] }) => choice && Object.keys(choice.delta)[0]), [
    "role",
    "content",
    "tool_calls",
    undefined,
    undefined,
  ]);
  assertEquals(chunks[3].choices[0].finish_reason, "tool_calls");
  assertEquals(chunks[4].usage.completion_tokens, test.model.sampled[0]?.ids.length);
});

Deno.test("gateway refuses audio, images, several choices and a session's key on the owner's routes", async () => {
  await using test = new TestGateway(() => "x");
  const { key, id } = await test.open();
  const other = await test.open();
  const refused = [
    chat([user("a")], { n: 2 }),
    chat([user("a")], { modalities: ["audio"] }),
    chat([user([{ type: "image_url", image_url: { url: "x" } }])]),
    chat([]),
    { model: "m" },
    "{",
  ];
  for (const body of refused) {
    const response = await test.send(CHAT, body, { key });
    const { error } = await response.json();
    assertEquals([response.status, error.type, error.param], [400, "invalid_request_error", null]);
  }
  const path = `/v1/gateway/sessions/${id}`;
  for (
    const [target, body, method] of [
      ["/v1/gateway/sessions", undefined, "GET"],
      ["/v1/gateway/sessions", { task: { id: "x" } }, "POST"],
      [`${path}/reward`, { reward: 1 }, "POST"],
      [`${path}/rows`, undefined, "GET"],
      [path, undefined, "DELETE"],
      [`/v1/gateway/sessions/${other.id}/reward`, { reward: 1 }, "POST"],
      ["/metrics", undefined, "GET"],
      ["/v1/gateway/rows", undefined, "GET"],
      [`${path}/fork`, {}, "POST"],
      ["/v1/gateway/pause", {}, "POST"],
      ["/v1/gateway/resume", {}, "POST"],
    ] as const
  ) {
    assertEquals((await test.send(target, body, { key, method })).status, 403, `${method} ${target}`);
  }
  assertEquals((await test.send(`${path}/rows`, undefined, { key: OTHER_TOKEN })).status, 404);
  assertEquals(
    (await test.send(CHAT, chat([user("a")]), { key: TOKEN })).status,
    401,
    "an owner is no session",
  );
  assertEquals((await test.send(CHAT, chat([user("a")]), { key: "paddock-none" })).status, 401);
  assertEquals(test.model.sampled, []);
});

Deno.test("gateway breaks off a stream whose model server dies after its head, with the dialect's error event", async () => {
  const cases = [
    [CHAT, { messages: [user("a")] }, '"error":{"message":'],
    ["/v1/responses", { input: "a" }, "event: error"],
    ["/v1/messages", { messages: [user("a")] }, "event: error"],
  ] as const;
  for (const [path, body, error] of cases) {
    const asked = Promise.withResolvers<void>();
    const over = Promise.withResolvers<Response>();
    await using test = new TestGateway(() => {
      asked.resolve();
      return over.promise;
    }, { headWaitMs: 1 });
    const { key, id } = await test.open();
    const response = await test.send(path, { model: "m", stream: true, ...body }, { key });
    await asked.promise;
    over.resolve(new Response("gone", { status: 400 }));
    const pieces: string[] = [];
    await assertRejects(async () => {
      for await (const piece of response.body ?? []) pieces.push(new TextDecoder().decode(piece));
    });
    assertEquals(response.status, 200);
    assert(pieces.at(-1)?.includes(error), pieces.join(""));
    assert(!pieces.join("").includes("[DONE]"));
    assertEquals(await test.rowsOf(id), []);
  }
});

Deno.test("gateway answers a failure of the model server with its status before a stream begins", async () => {
  await using test = new TestGateway(() => new Response("no", { status: 400 }));
  const { key } = await test.open();
  const response = await test.send(CHAT, chat([user("a")], { stream: true }), { key });
  assertEquals([response.status, (await response.json()).error.type], [400, "invalid_request_error"]);
  await test.model.kill();
  const dead = await test.send(CHAT, chat([user("a")]), { key });
  assertEquals([dead.status, (await dead.json()).error.type], [503, "server_error"]);
});

Deno.test("gateway gives the same answer again after a stream that was not read to its end", async () => {
  await using test = new TestGateway((_, count) => `reply ${count}`);
  const { key, id } = await test.open();
  const body = chat([user("a")], { stream: true });
  const stream = (await test.send(CHAT, body, { key })).body?.getReader();
  await stream?.read();
  await stream?.cancel();
  const again = await (await test.send(CHAT, { ...body, stream: false, max_tokens: 9 }, { key })).json();
  assertEquals(again.choices[0].message.content, "reply 1");
  const other = await (await test.send(CHAT, { ...body, stream: false }, { key })).json();
  assertEquals(other.choices[0].message.content, "reply 2");
  await test.send(`/v1/gateway/sessions/${id}/reward`, { reward: 1 });
  requireExact(await test.rowsOf(id), test.model.sampled);
});

Deno.test("gateway holds back samples while it is paused, and records the version after", async () => {
  await using test = new TestGateway(() => "x");
  const { key, id } = await test.open();
  assertEquals((await test.send("/v1/gateway/pause", {})).status, 200);
  let isAnswered = false;
  const answer = test.send(CHAT, chat([user("a")]), { key }).then((response) => {
    isAnswered = true;
    return response.body?.cancel();
  });
  await test.send("/v1/gateway/stats");
  assertEquals([isAnswered, test.model.sampled.length], [false, 0]);
  await test.send("/v1/gateway/resume", { policy_version: 7 });
  await answer;
  const [row] = await test.rowsOf(id);
  assertEquals(row?.turns[0]?.policy_version, 7);
});

Deno.test("gateway ends a session that is idle or deleted as aborted, with its turns", async () => {
  await using test = new TestGateway(() => "x");
  const idle = await test.open({ idle_seconds: 1 });
  const deleted = await test.open();
  const ended = await test.open();
  for (const { key } of [idle, deleted]) await (await test.send(CHAT, chat([user("a")]), { key })).text();
  await test.send(`/v1/gateway/sessions/${deleted.id}`, undefined, { method: "DELETE" });
  while (test.rows.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(test.rows.map(({ status, reward, turns }) => [status, reward, turns.length]), [
    ["aborted", null, 1],
    ["aborted", null, 1],
  ]);
  assertEquals((await test.send(CHAT, chat([user("b")]), { key: deleted.key })).status, 401);
  await test.send(`/v1/gateway/sessions/${ended.id}/reward`, { reward: 1 });
  assertEquals((await test.send(CHAT, chat([user("b")]), { key: ended.key })).status, 400);
  await test.send(`/v1/gateway/sessions/${ended.id}`, undefined, { method: "DELETE" });
  const idleSessions = async () => (await (await test.send("/v1/gateway/stats")).json()).ended;
  while (await idleSessions() > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(test.rows.length, 2, "a session that has ended is forgotten, and reported once");
});

Deno.test("gateway bounds the memory of an owner's sessions", async () => {
  await using test = new TestGateway(() => "x", { bytes: 2_000_000 });
  const { key } = await test.open();
  const ask = async (text: string) => {
    const response = await test.send(CHAT, chat([user(text)]), { key });
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await ask("a".repeat(50_000)), 200);
  assertEquals(await ask("b"), 413);
  assertEquals((await (await test.send("/v1/gateway/stats")).json()).turns, 1);
});

Deno.test("gateway lists its model in the form of the client, and refuses a WebSocket at once", async () => {
  await using test = new TestGateway(() => "x");
  const { key } = await test.open();
  const models = await (await test.send("/v1/models", undefined, { key })).json();
  assertEquals([models.object, models.data[0].id], ["list", "tiny"]);
  const headers = { "anthropic-version": "2023-06-01", "x-api-key": key };
  const anthropic = await (await test.send("/v1/models?beta=true", undefined, { key, headers })).json();
  assertEquals([anthropic.data[0].type, anthropic.has_more], ["model", false]);
  assertEquals((await test.send("/v1/responses", undefined, { key })).status, 426);
});

Deno.test("gateway sends a JSON schema to the model server's constrained decoding", async () => {
  await using test = new TestGateway(() => '{"a": 1}');
  const { key } = await test.open();
  const schema = { type: "object", properties: { a: { type: "integer" } } };
  const format = { type: "json_schema", json_schema: { name: "x", schema } };
  await (await test.send(CHAT, chat([user("a")], { response_format: format, tools: undefined }), { key }))
    .text();
  assertEquals(JSON.parse(test.model.sampled[0]?.body.sampling_params.json_schema), schema);
  const offering = await test.send(CHAT, chat([user("b")], { response_format: format }), { key });
  await offering.text();
  assertEquals(offering.headers.get("x-paddock-ignored"), "json-schema");
  const { json_schema: withTools } = test.model.sampled[1]?.body.sampling_params;
  assertEquals(withTools, undefined, "it could call no tool");
});

Deno.test("gateway ends a session with the score of a grader, or says why there is none", async () => {
  await using pool = new GraderPool();
  const graders = new Map([["number_match", () => numberMatch()]]);
  await using test = new TestGateway(() => "It is 5.", { graders, graderPool: pool });
  const { key, id } = await test.open({ task: { id: "sum", answer: 5 } });
  const path = `/v1/gateway/sessions/${id}/reward`;
  assertEquals((await test.send(path, { grader: "number_match" })).status, 409, "there is no turn");
  await (await test.send(CHAT, chat([user("add")]), { key })).text();
  assertEquals((await test.send(path, { grader: "none" })).status, 422);
  const ended = await (await test.send(path, { grader: "number_match" })).json();
  assertEquals([ended.status, ended.reward, ended.reward_parts], ["completed", 1, { number_match: 1 }]);
  assertEquals(test.rows.map(({ reward, reward_parts }) => [reward, reward_parts]), [[1, {
    number_match: 1,
  }]]);
  assertEquals((await test.send(path, { reward: 0 })).status, 409, "the first end counts");
});

Deno.test("gateway closes the connection of a stream that breaks off, so that no client takes it for whole", async () => {
  const asked = Promise.withResolvers<void>();
  const over = Promise.withResolvers<Response>();
  await using test = new TestGateway(() => {
    asked.resolve();
    return over.promise;
  }, { headWaitMs: 1 });
  await using server = await HttpServer.listen(test.fetch, {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver: () => Promise.resolve(),
  });
  const { key } = await test.open();
  const body = JSON.stringify({ model: "m", stream: true, messages: [user("a")] });
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`http://127.0.0.1:${server.port}${CHAT}`, { method: "POST", headers, body });
  await asked.promise;
  over.resolve(new Response("gone", { status: 400 }));
  await assertRejects(() => response.text());
});
