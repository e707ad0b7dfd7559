import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ArgumentTypeError, errorMessage } from "../../../src/errors.ts";
import { Budgets } from "../../../src/server/admission/budget.ts";
import { type FakePython, ok } from "../../fake_pool.ts";
import { served } from "../served.ts";
import { answerCall, ANY_TOOL, openWithTools, streamProgram } from "../tool_stream.ts";

/** Runs `[name, args][]`: calls all tools at once and returns their results or errors. */
const python: FakePython = async (code, _globals, { tools = [], signal }) => {
  if (code === "") return ok();
  const end = new AbortController();
  const signals = AbortSignal.any([end.signal, ...(signal ? [signal] : [])]);
  const calls: [string, Record<string, unknown>][] = JSON.parse(code);
  const results = calls.map(async ([name, args]) => {
    try {
      const tool = tools.find((tool) => tool.name === name);
      return await tool?.run(args, { signal: signals });
    } catch (error) {
      return { raised: errorMessage(error) };
    }
  });
  return ok("", { value: JSON.stringify(await Promise.all(results)) });
};

function program(...calls: [string, Record<string, unknown>][]): { code: string } {
  return { code: JSON.stringify(calls) };
}

const ADD = {
  name: "add",
  description: "Adds.",
  parameters: {
    type: "object",
    properties: { a: { type: "integer" }, b: { type: ["number", "null"], maximum: 10 } },
    required: ["a"],
    additionalProperties: false,
  },
};

Deno.test("a streamed program's call reaches the client, and the answer reaches the program", async () => {
  await using server = served({ python });
  const path = await openWithTools(server, { tools: [ADD] });
  const stream = await streamProgram(server, path, program(["add", { a: 1, b: 2 }], ["add", { a: 3 }]));
  const [first, second] = [await stream.next(), await stream.next()];
  assertEquals(first, { name: "call", data: { callId: "call_1", name: "add", arguments: { a: 1, b: 2 } } });
  assertEquals(second.data, { callId: "call_2", name: "add", arguments: { a: 3 } });
  const error = { type: "KeyError", message: "no 3" };
  assertEquals((await answerCall(server, path, { callId: "call_2", error })).status, 204);
  assertEquals((await answerCall(server, path, { callId: "call_1", value: { sum: [3, null] } })).status, 204);
  assertEquals(JSON.parse((await stream.result()).value), [{ sum: [3, null] }, { raised: "KeyError: no 3" }]);
  assertEquals((await server.send("GET", path)).body.tools, ["add"]);
});

Deno.test("a call is answered once, by its owner, while it waits", async () => {
  const tokens = ["token of the first owner", "token of the second owner"];
  await using server = served({ python, tokens, maxSessions: 4 });
  const [headers, other] = tokens.map((token) => ({ authorization: `Bearer ${token}` }));
  assert(headers && other);
  const path = await openWithTools(server, { headers });
  const stream = await streamProgram(server, path, { ...program(["f", {}]), headers });
  const { data: { callId } } = await stream.next();
  const statusOf = async (id: string, from: HeadersInit = headers) =>
    (await answerCall(server, path, { callId: id, value: 1, headers: from })).status;
  for (
    const unknown of ["call_2", "call_0", "call_", "call_1x", "x", "call_99999999999999999999", "__proto__"]
  ) {
    assertEquals(await statusOf(unknown), 404, unknown);
  }
  assertEquals(await statusOf(callId, other), 404);
  assertEquals(await statusOf(callId), 204);
  assertEquals(await statusOf(callId), 409);
  await stream.result();
  assertEquals(await statusOf(callId), 409);
  const { body: { id } } = await server.send("POST", "/v1/sessions", {}, headers);
  const without = await answerCall(server, `/v1/sessions/${id}`, { callId, value: 1, headers });
  assertEquals([without.status, without.body.error.message], [404, "The session has no tools"]);
});

Deno.test("an answer has either a value or an error", async () => {
  await using server = served({ python });
  const path = await openWithTools(server);
  const stream = await streamProgram(server, path, program(["f", {}]));
  const { data: { callId } } = await stream.next();
  const deep = JSON.parse("[".repeat(80) + "]".repeat(80));
  const wrong: [number, object][] = [
    [422, {}],
    [422, { value: 1, error: { message: "both" } }],
    [422, { error: "text" }],
    [422, { error: { type: 1, message: "" } }],
    [422, { error: { message: "x".repeat(70_000) } }],
    [422, { value: 1, more: 1 }],
    [422, [] as object],
    [400, { value: deep }],
    [400, { value: Array.from({ length: 200_000 }, () => 0) }],
    [413, { value: "x".repeat(33 * 1024 * 1024) }],
  ];
  for (const [status, answer] of wrong) {
    const response = await server.send("POST", `${path}/calls/${callId}`, answer);
    assertEquals(response.status, status, JSON.stringify(answer).slice(0, 80));
  }
  assertEquals((await answerCall(server, path, { callId, value: null })).status, 204);
  assertEquals(JSON.parse((await stream.result()).value), [null]);
});

Deno.test("a call that is not answered in time fails, and the client is told to stop", async () => {
  await using server = served({ python });
  const path = await openWithTools(server, { tools: [{ ...ANY_TOOL, timeoutMs: 50 }] });
  const stream = await streamProgram(server, path, program(["f", {}]));
  const { data: { callId } } = await stream.next();
  assertEquals(await stream.next(), { name: "cancel", data: { callId } });
  const [{ raised }] = JSON.parse((await stream.result()).value);
  assertEquals(raised, "the client did not answer the call of 'f' within 50 ms");
  assertEquals((await answerCall(server, path, { callId, value: 1 })).status, 409);
});

Deno.test("a call ends when the client leaves the stream, or ends the session", async () => {
  await using server = served({ python });
  const path = await openWithTools(server);
  const stream = await streamProgram(server, path, program(["f", {}]));
  const { data: { callId } } = await stream.next();
  await stream.cancel();
  assertEquals((await answerCall(server, path, { callId, value: 1 })).status, 409);
  const second = await streamProgram(server, path, program(["f", {}]));
  const { data } = await second.next();
  await server.send("DELETE", path);
  assertEquals((await answerCall(server, path, { callId: data.callId, value: 1 })).status, 404);
  await second.cancel();
});

Deno.test("a call of a program that is not streamed fails with the reason", async () => {
  await using server = served({ python });
  const path = await openWithTools(server);
  const { body } = await server.send("POST", `${path}/exec`, program(["f", {}]));
  const message = "'f' can be called only by a program that is streamed: POST /v1/sessions/{id}/stream";
  assertEquals(JSON.parse(body.value), [{ raised: message }]);
  const session = path.split("/").at(-1);
  const batch = await server.send("POST", "/v1/exec:batch", { items: [{ ...program(["f", {}]), session }] });
  assertEquals(JSON.parse(batch.body.results[0].result.value), [{ raised: message }]);
});

Deno.test("arguments that do not match the schema are not sent", async () => {
  await using server = served({ python });
  const path = await openWithTools(server, { tools: [ADD, ANY_TOOL] });
  const calls: [string, Record<string, unknown>][] = [
    ["add", {}],
    ["add", { a: "1" }],
    ["add", { a: 1.5 }],
    ["add", { a: 1, b: 11 }],
    ["add", { a: 1, c: 1 }],
  ];
  const stream = await streamProgram(server, path, program(...calls));
  const { name, data } = await stream.next();
  assertEquals(name, "result");
  for (const { raised } of JSON.parse(data.value)) assertMatch(raised, /^wrong arguments for 'add': /);
});

Deno.test("a session refuses tools that are invalid, too many or too large", async () => {
  await using server = served({ python, maxSessions: 1 });
  const withParameters = (parameters: unknown) => [{ ...ANY_TOOL, parameters }];
  const property = (schema: unknown) => withParameters({ type: "object", properties: { x: schema } });
  const wrong: unknown[] = [
    [{ ...ANY_TOOL, name: "a b" }],
    [{ ...ANY_TOOL, name: "x".repeat(65) }],
    [{ ...ANY_TOOL, timeoutMs: 0 }],
    [{ ...ANY_TOOL, timeoutMs: 1e9 }],
    [{ ...ANY_TOOL, more: 1 }],
    [{ name: "f" }],
    [ANY_TOOL, ANY_TOOL],
    Array.from({ length: 65 }, (_, at) => ({ ...ANY_TOOL, name: `f${at}` })),
    [{ ...ANY_TOOL, description: "x".repeat(70_000) }],
    withParameters({}),
    withParameters({ type: "string" }),
    withParameters({ type: "object", anyOf: [{}] }),
    withParameters({ type: "object", properties: [] }),
    withParameters({ type: "object", properties: { "a b": {} } }),
    property(1),
    property({ $ref: "#" }),
    property({ not: {} }),
    property({ patternProperties: { "(a+)+$": {} } }),
    property({ type: "text" }),
    property({ minimum: "1" }),
    property({ enum: "a" }),
    property({ anyOf: [] }),
    property({ items: [{}] }),
    property({ constructor: 1 }),
  ];
  for (const tools of wrong) {
    const { status, body } = await server.send("POST", "/v1/sessions", { tools });
    assertEquals([status, body.error?.type], [422, "invalid"], JSON.stringify(tools).slice(0, 100));
  }
  await openWithTools(server, { tools: property({ pattern: "(a+)+$", format: "email", uniqueItems: true }) });
});

Deno.test("a session is not opened if its sandbox refuses host tools", async () => {
  await using server = served({
    maxSessions: 1,
    python: (_code, _globals, { tools = [] }) => {
      if (tools.length > 0) {
        throw new ArgumentTypeError("Cannot grant host tools as profile 'python' must have 'hostTools'");
      }
      return ok();
    },
  });
  const { status } = await server.send("POST", "/v1/sessions", { tools: [ANY_TOOL] });
  assertEquals(status, 422);
  assertEquals(server.pool.alive, 0);
});

Deno.test("checking a call takes a bounded time, whatever the schema and the arguments are", async () => {
  await using server = served({ python });
  const branches = Array.from({ length: 600 }, (_, at) => ({ minLength: 1e9 + at }));
  const tools = [
    { ...ANY_TOOL, parameters: { type: "object", properties: { x: { items: { anyOf: branches } } } } },
    { ...ANY_TOOL, name: "g", parameters: { type: "object", properties: { x: { anyOf: branches } } } },
    { ...ANY_TOOL, name: "h", parameters: { type: "object", properties: { x: { pattern: "^(a+)+$" } } } },
  ];
  const path = await openWithTools(server, { tools });
  const items = Array.from({ length: 50_000 }, () => "a");
  const calls = program(["f", { x: items }], ["g", { x: "a".repeat(8e6) }], ["h", {
    x: `${"a".repeat(50)}!`,
  }]);
  const stream = await streamProgram(server, path, calls);
  const { data: { callId, name } } = await stream.next();
  assertEquals(name, "h");
  await answerCall(server, path, { callId, value: 1 });
  const tooLarge = (name: string) => ({ raised: `the arguments of '${name}' are too large for its schema` });
  assertEquals(JSON.parse((await stream.result()).value), [tooLarge("f"), tooLarge("g"), 1]);
});

Deno.test("waiting calls take the memory of their owner, and give it back", async () => {
  const budgets = new Budgets({ bytes: 4 * 1024 * 1024 });
  const x = "x".repeat(100_000);
  // The program makes the arguments, so that the request itself is small.
  const large: FakePython = (code, globals, options) => python(code.replaceAll("large", x), globals, options);
  await using server = served({ python: large, budgets });
  const path = await openWithTools(server);
  const calls = Array.from({ length: 12 }, (): [string, Record<string, unknown>] => ["f", { x: "large" }]);
  const stream = await streamProgram(server, path, program(...calls));
  const { data: { callId } } = await stream.next();
  assert(budgets.waiting.used() > 900_000);
  for (
    let call = 1;
    (await answerCall(server, path, { callId: `call_${call}`, value: 1 })).status === 204;
    call++
  );
  const values = JSON.parse((await stream.result()).value);
  const refused = values.filter((value: unknown) => value !== 1);
  assertEquals(callId, "call_1");
  assert(refused.length > 0 && refused.length < 12, `${refused.length} calls were refused`);
  for (const { raised } of refused) assertStringIncludes(raised, "more buffer memory");
  await stream.cancel();
  assertEquals(budgets.waiting.used(), 0);
});

Deno.test("an answer waits for its program, and counts as waiting data of its owner until then", async () => {
  const budgets = new Budgets({ bytes: 8 * 1024 * 1024 });
  const { promise: delivered, resolve: deliver } = Promise.withResolvers<void>();
  const slow: FakePython = async (code, _globals, { tools: [tool] = [], signal }) => {
    if (code === "" || signal === undefined || tool === undefined) return ok();
    const value = await tool.run({}, { signal, delivered });
    await delivered;
    return ok("", { value: String(value).slice(0, 1) });
  };
  await using server = served({ python: slow, budgets });
  const path = await openWithTools(server);
  const stream = await streamProgram(server, path, { code: "1" });
  const { data: { callId } } = await stream.next();
  let isAnswered = false;
  const answer = answerCall(server, path, { callId, value: "x".repeat(1_000_000) }).then(({ status }) => {
    isAnswered = true;
    return status;
  });
  while (budgets.waiting.used() < 3_000_000) await new Promise((resolve) => setTimeout(resolve, 1));
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
  assertEquals(isAnswered, false);
  const second = await answerCall(server, path, { callId, value: "x".repeat(1_000_000) });
  assertEquals([second.status, second.body.error.type], [429, "busy"]);
  deliver();
  assertEquals(await answer, 204);
  assertEquals((await stream.result()).value, "x");
  await stream.cancel();
  assertEquals(budgets.waiting.used(), 0);
});

Deno.test("a flood of answers that no call waits for changes nothing", async () => {
  await using server = served({ python });
  const path = await openWithTools(server);
  const stream = await streamProgram(server, path, program(["f", {}]));
  const { data: { callId } } = await stream.next();
  const answers = Array.from(
    { length: 200 },
    (_, at) => answerCall(server, path, { callId: `call_${at + 2}`, value: at }),
  );
  assertEquals(new Set((await Promise.all(answers)).map(({ status }) => status)), new Set([404]));
  const both = await Promise.all([1, 2, 3].map((value) => answerCall(server, path, { callId, value })));
  assertEquals(both.map(({ status }) => status), [204, 409, 409]);
  assertStringIncludes((await stream.result()).value, "[1]");
});
