import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { LiveSession } from "../../src/gateway/live_session.ts";
import { streamRows } from "../../src/gateway/row_stream.ts";
import { modelSampler } from "../../src/gateway/model/model_sampler.ts";
import { openaiCalls } from "../../src/tools/parsers/openai_calls.ts";
import { FakeServer } from "../policy/fake_server.ts";
import { requireExact } from "./exact_rows.ts";
import { type Opened, OTHER_TOKEN, TestGateway } from "./open_gateway.ts";

const CHAT = "/v1/chat/completions";
const user = (content: string) => ({ role: "user", content });

async function ask(test: TestGateway, { key }: Opened, messages: readonly object[]): Promise<string> {
  const response = await test.send(CHAT, { model: "m", messages }, { key });
  const { choices } = await response.json();
  return choices[0].message.content;
}

async function fork(test: TestGateway, { id }: Opened, body: object = {}): Promise<Opened[]> {
  const response = await test.send(`/v1/gateway/sessions/${id}/fork`, body);
  assertEquals(response.status, 201);
  return (await response.json()).sessions;
}

Deno.test("a fork of a session continues its turns as branches, with the sampled ids, and leaves its rows", async () => {
  await using test = new TestGateway((_, count) => `reply ${count}`);
  const opened = await test.open();
  const first = [user("a"), { role: "assistant", content: await ask(test, opened, [user("a")]) }, user("b")];
  const [one, other] = await fork(test, opened, { count: 2 }) as [Opened, Opened];
  assertEquals(await ask(test, one, first), "reply 2");
  assertEquals(await ask(test, other, first), "reply 3", "a fork samples by itself");
  assertEquals(await ask(test, other, [user("a")]), "reply 4", "an answer of the origin is not given again");
  const [deep] = await fork(test, one) as [Opened];
  const more = [...first, { role: "assistant", content: "reply 2" }, user("c")];
  assertEquals(await ask(test, deep, more), "reply 5");
  assertEquals(await ask(test, opened, first), "reply 6", "the origin goes on");
  const rows = (await Promise.all([opened, one, other, deep].map(({ id }) => test.rowsOf(id)))).flat();
  requireExact(rows, test.model.sampled);
  assertEquals(
    rows.map(({ id, parent, turns }) => [id, parent, turns.map(({ turn }) => turn)]),
    [
      [opened.id, undefined, [1, 2]],
      [one.id, { id: opened.id, turn: 2 }, [2]],
      [other.id, { id: opened.id, turn: 2 }, [2]],
      [`${other.id}-2`, { id: other.id, turn: 1 }, [1]],
      [deep.id, { id: one.id, turn: 3 }, [3]],
    ],
  );
  const state = await (await test.send(`/v1/gateway/sessions/${deep.id}`)).json();
  assertEquals(state.forked_from, one.id);
  const foreign = await test.send(`/v1/gateway/sessions/${opened.id}/fork`, {}, { key: OTHER_TOKEN });
  assertEquals(foreign.status, 404);
});

Deno.test("rows of all sessions stream as they end, each once, in the form of a trainer", async () => {
  await using test = new TestGateway((_, count) => `reply ${count}`);
  const [first, second, foreign] = [await test.open(), await test.open(), await test.open()];
  for (const opened of [first, second, foreign]) await ask(test, opened, [user("a")]);
  const reward = (opened: Opened, value: number) =>
    test.send(`/v1/gateway/sessions/${opened.id}/reward`, { reward: value });
  await reward(first, 1);
  const stream = await test.send("/v1/gateway/rows?follow=true&format=verl");
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => {
    for (;;) {
      const { value = "" } = await reader?.read() ?? {};
      if (value.trim() !== "") return JSON.parse(value);
    }
  };
  const ended = await next();
  assertEquals([ended.extra_fields.session, ended.reward_score, ended.num_turns], [first.id, 1, 2]);
  await reward(second, 0);
  await test.send(`/v1/gateway/sessions/${second.id}`, undefined, { method: "DELETE" });
  const later = await next();
  assertEquals([later.extra_fields.session, later.reward_score], [second.id, 0]);
  assertEquals([...later.prompt_ids, ...later.response_ids].length > 0, true);
  assertEquals(later.response_ids.length, later.response_mask.length);
  const isSampled = (_: number, at: number) => later.response_mask[at] === 1;
  assertEquals(later.response_ids.filter(isSampled), test.model.sampled[1]?.ids);
  await reader?.cancel();
  const all = await (await test.send("/v1/gateway/rows?format=trl")).text();
  const [row, ...others] = all.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals([row.id, others.length], [first.id, 0], "the second one is forgotten");
  const ids = row.completion_ids.filter((_: number, at: number) => row.env_mask[at] === 1);
  assertEquals(ids, test.model.sampled[0]?.ids);
  assertEquals((await test.send("/v1/gateway/rows?format=x")).status, 422);
  assertEquals(await (await test.send("/v1/gateway/rows", undefined, { key: OTHER_TOKEN })).text(), "");
});

Deno.test("a stream of rows that is not read breaks off before it keeps more sessions than its limit", async () => {
  await using test = new TestGateway(() => "x");
  const owner = (await openLive(test)).owner;
  const follow = (onEnd: (live: LiveSession) => void) => test.gateway.follow(owner, onEnd);
  const stream = streamRows({ format: "slime", ended: [], follow, maxWaiting: 2 });
  for (let at = 0; at < 3; at++) test.gateway.delete(await openLive(test));
  await assertRejects(() => new Response(stream).text(), RangeError, "more than 2 sessions");
});

async function openLive(test: TestGateway): Promise<LiveSession> {
  const settings = { owner: "me", task: { id: "t", query: "" } };
  return await test.gateway.open(settings, { signal: new AbortController().signal });
}

Deno.test("a model server without ids serves evaluations, whose rows say that they are not for training", async () => {
  const bodies: Record<string, unknown>[] = [];
  await using server = new FakeServer(({ body }) => {
    bodies.push(body);
    const call = { id: "x", type: "function", function: { name: "add", arguments: '{"a":1}' } };
    const message = bodies.length === 1
      ? { role: "assistant", content: "I add.", tool_calls: [call] }
      : { role: "assistant", content: "It is 3.", reasoning_content: "hm" };
    const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
    return Promise.resolve(Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
  });
  const sampler = modelSampler({ api: "chat", url: server.url, model: "any" });
  await using test = new TestGateway(() => "", { sampler, format: undefined, parser: openaiCalls() });
  const opened = await test.open();
  const tools = [{ type: "function", function: { name: "add", description: "", parameters: {} } }];
  const send = async (messages: object[]) =>
    await (await test.send(CHAT, { model: "m", messages, tools }, { key: opened.key })).json();
  const first = await send([user("add")]);
  const { message } = first.choices[0];
  assertEquals([message.content, message.tool_calls[0].function.name], ["I add.", "add"]);
  const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "3" };
  const second = await send([user("add"), message, result]);
  assertEquals([second.choices[0].message.reasoning_content, second.usage.prompt_tokens], ["hm", 9]);
  assertEquals(bodies.map(({ messages }) => (messages as unknown[]).length), [1, 3]);
  await test.send(`/v1/gateway/sessions/${opened.id}/reward`, { reward: 1 });
  const [row] = await test.rowsOf(opened.id);
  assertEquals([row?.tokens, row?.loss_mask, row?.reward, row?.turns.length], [[], [], 1, 2]);
  assertEquals(row?.info.not_for_training, "the model server returns no token ids");
  assertEquals(row?.turns.map(({ sampled }) => sampled), [undefined, undefined]);
  const count = await test.send("/v1/messages/count_tokens", { model: "m", messages: [user("a")] }, opened);
  assertEquals(count.status, 400);
});

Deno.test("a busy model server is a 429 with its Retry-After in each dialect, and a long prompt the agent's error", async () => {
  const cases: readonly [path: string, body: object, busy: string][] = [
    [CHAT, { messages: [user("a")] }, "rate_limit_error"],
    ["/v1/responses", { input: "a" }, "rate_limit_error"],
    ["/v1/messages", { messages: [user("a")] }, "rate_limit_error"],
  ];
  for (const [path, body, type] of cases) {
    const headers = { "retry-after": "0" };
    const limit = JSON.stringify({ error: { message: "busy" } });
    const script = (_: string) => new Response(limit, { status: 429, headers });
    await using test = new TestGateway(script);
    const { key } = await test.open();
    const response = await test.send(path, { model: "m", ...body }, { key });
    assertEquals([response.status, response.headers.get("retry-after")], [429, "0"], path);
    assertEquals((await response.json()).error.type, type);
  }
  await using test = new TestGateway(() => "x", { contextTokens: 20 });
  const { key } = await test.open();
  const long = { model: "m", messages: [user("a".repeat(100))] };
  const chat = await (await test.send(CHAT, long, { key })).json();
  assertEquals(chat.error.code, "context_length_exceeded");
  const messages = await (await test.send("/v1/messages", long, { key })).json();
  const [, prompt, most] =
    /^prompt is too long: (\d+) tokens > (\d+) maximum$/.exec(messages.error.message) ?? [];
  assert(Number(prompt) > 100 && most === "20", messages.error.message);
});

Deno.test("a request that the agent cancels is cancelled at the model server", async () => {
  const asked = Promise.withResolvers<void>();
  const over = Promise.withResolvers<Response>();
  await using test = new TestGateway(() => {
    asked.resolve();
    return over.promise;
  });
  const { key } = await test.open();
  const leave = new AbortController();
  const answer = test.send(CHAT, { model: "m", messages: [user("a")] }, { key, signal: leave.signal });
  await asked.promise;
  leave.abort();
  await answer.then((response) => response.body?.cancel(), () => {});
  while (test.model.aborted.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  over.resolve(new Response("late", { status: 400 }));
  assertEquals(test.model.sampled, []);
});

Deno.test("/metrics counts the turns and tokens of an owner, and /openapi.json describes each route", async () => {
  await using test = new TestGateway(() => "x");
  const opened = await test.open();
  await ask(test, opened, [user("a")]);
  const metrics = async (key?: string) =>
    await (await test.send("/metrics", undefined, key ? { key } : {})).text();
  const own = await metrics();
  const sampled = test.model.sampled[0];
  for (
    const line of [
      "paddock_gateway_turns_total 1",
      "paddock_gateway_open_sessions 1",
      `paddock_gateway_sampled_tokens_total ${sampled?.ids.length}`,
      `paddock_gateway_prompt_tokens_total ${sampled?.prompt.length}`,
      'paddock_requests_total{method="POST",route="/v1/chat/completions",status="200"} 1',
    ]
  ) assertStringIncludes(own, `${line}\n`);
  assert(!(await metrics(OTHER_TOKEN)).includes("paddock_gateway_turns_total 1"));
  const document = await (await test.send("/openapi.json")).json();
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item as object).map((method) => `${method} ${path}`)
  );
  for (const route of ROUTES) assert(described.includes(route), route);
});

const ROUTES = [
  "post /v1/chat/completions",
  "post /v1/responses",
  "post /v1/messages",
  "post /v1/messages/count_tokens",
  "get /v1/models",
  "post /v1/gateway/sessions",
  "get /v1/gateway/sessions",
  "get /v1/gateway/sessions/{id}",
  "delete /v1/gateway/sessions/{id}",
  "post /v1/gateway/sessions/{id}/reward",
  "post /v1/gateway/sessions/{id}/fork",
  "get /v1/gateway/sessions/{id}/rows",
  "get /v1/gateway/rows",
  "get /v1/gateway/stats",
  "post /v1/gateway/pause",
  "post /v1/gateway/resume",
];
