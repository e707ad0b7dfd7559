import { assert, assertEquals } from "@std/assert";
import { requireExact } from "./exact_rows.ts";
import { eventsOf, TestGateway } from "./open_gateway.ts";
import { call } from "./scripted_model.ts";

const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";
const REPLIES = [`<think>\nhm\n</think>\n\n  Let me look.\n${call("add", '{"b": 2,  "a": 1.0}')}`, "Done."];
const tools = [{ name: "add", description: "Adds.", input_schema: { type: "object" } }];
const functions = [{ type: "function", name: "add", description: "Adds.", parameters: { type: "object" } }];

Deno.test("gateway answers messages of Anthropic's dialect, and continues the row with changed shapes", async () => {
  await using test = new TestGateway((_, count) => REPLIES[count - 1] ?? "?");
  const { key, id } = await test.open();
  const headers = { "x-api-key": key, "anthropic-version": "2023-06-01" };
  const send = async (messages: object[], more: object = {}) => {
    const body = { model: "tiny", max_tokens: 100, tools, messages, ...more };
    return await test.send(`${MESSAGES}?beta=true`, body, { key, headers });
  };
  const block = (text: string) => ({ type: "text", text, cache_control: { type: "ephemeral" } });
  const billing = (sum: string) => block(`x-anthropic-billing-header: cch=${sum}`);
  const first = await (await send([{ role: "user", content: [block("add")] }], {
    system: [billing("1"), block("Be brief.")],
  })).json();
  assertEquals([first.type, first.role, first.stop_reason, first.stop_sequence], [
    "message",
    "assistant",
    "tool_use",
    null,
  ]);
  const [thinking, text, use] = first.content;
  assertEquals([thinking.thinking, text.text.trim(), use.name, use.input], ["hm", "Let me look.", "add", {
    b: 2,
    a: 1,
  }]);
  assertEquals(first.usage.output_tokens, test.model.sampled[0]?.ids.length);
  const result = {
    type: "tool_result",
    tool_use_id: use.id,
    content: [{ type: "text", text: "3" }],
    is_error: false,
  };
  const second = await (await send([
    { role: "user", content: "add" },
    { role: "assistant", content: [text, { ...use, input: { a: 1, b: 2 } }] },
    { role: "user", content: [result] },
  ], { system: [billing("2"), block("Be brief.")] })).json();
  assertEquals([second.stop_reason, second.content], ["end_turn", [{ type: "text", text: "Done." }]]);
  await test.send(`/v1/gateway/sessions/${id}/reward`, { reward: 1 });
  const rows = await test.rowsOf(id);
  assertEquals(rows.length, 1);
  requireExact(rows, test.model.sampled);
});

Deno.test("gateway gives Claude Code's second request the answer of the first, whose version in the prompt differs", async () => {
  await using test = new TestGateway((_, count) => `reply ${count}`);
  const { key } = await test.open();
  const send = async (billing: string, more: object) => {
    const system = [{ type: "text", text: `x-anthropic-billing-header: cch=${billing}` }];
    const body = { model: "m", system, messages: [{ role: "user", content: "a" }], ...more };
    return await test.send(`${MESSAGES}?beta=true`, body, { key });
  };
  const cut = (await send("1", { stream: true, max_tokens: 128_000 })).body?.getReader();
  await cut?.read();
  await cut?.cancel();
  const whole = await (await send("2", { max_tokens: 64_000 })).json();
  assertEquals(whole.content, [{ type: "text", text: "reply 1" }]);
  assertEquals(test.model.sampled.length, 1);
});

Deno.test("gateway streams messages: each block begins, changes and stops", async () => {
  await using test = new TestGateway(() => REPLIES[0] ?? "");
  const { key } = await test.open();
  const body = {
    model: "tiny",
    max_tokens: 100,
    stream: true,
    tools,
    messages: [{ role: "user", content: "add" }],
  };
  const events = eventsOf(await (await test.send(MESSAGES, body, { key })).text());
  const block = ["content_block_start", "content_block_delta", "content_block_stop"];
  assertEquals(events.map(({ type }) => type), [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    ...block,
    ...block,
    "message_delta",
    "message_stop",
  ]);
  assertEquals(events.at(-2).delta.stop_reason, "tool_use");
  const json = events.find(({ delta }) => delta?.type === "input_json_delta");
  assertEquals(JSON.parse(json.delta.partial_json), { b: 2, a: 1 });
});

Deno.test("gateway counts the tokens of messages, and refuses a prompt that is too long with both numbers", async () => {
  await using test = new TestGateway(() => "x", { contextTokens: 400 });
  const { key } = await test.open();
  const body = { model: "tiny", max_tokens: 9, messages: [{ role: "user", content: "hello" }] };
  const { input_tokens } = await (await test.send(`${MESSAGES}/count_tokens`, body, { key })).json();
  await (await test.send(MESSAGES, body, { key })).text();
  assertEquals(input_tokens, test.model.sampled[0]?.prompt.length);
  const long = { ...body, messages: [{ role: "user", content: "long ".repeat(100) }] };
  const response = await test.send(MESSAGES, long, { key });
  const { type, error } = await response.json();
  assertEquals([response.status, type, error.type], [400, "error", "invalid_request_error"]);
  assert(/^prompt is too long: \d+ tokens > 400 maximum$/.test(error.message), error.message);
});

Deno.test("gateway takes items of responses in full, by reference, and by the id of the response before", async () => {
  const ways = ["full", "reference", "previous"] as const;
  for (const way of ways) {
    await using test = new TestGateway((_, count) => REPLIES[count - 1] ?? "?");
    const { key, id } = await test.open();
    const send = async (body: object) => {
      const common = {
        model: "tiny",
        instructions: "Be brief.",
        tools: [...functions, { type: "web_search" }],
      };
      return await test.send(RESPONSES, { ...common, ...body }, { key });
    };
    const response = await send({ input: "add" });
    assertEquals(response.headers.get("x-paddock-ignored-tools"), "web_search");
    const first = await response.json();
    assertEquals([first.object, first.status], ["response", "completed"]);
    const [reasoning, message, made] = first.output;
    assertEquals([reasoning.type, message.content[0].annotations, made.name], ["reasoning", [], "add"]);
    const output = { type: "function_call_output", call_id: made.call_id, output: "3" };
    const question = { role: "user", content: [{ type: "input_text", text: "add" }] };
    const reference = (item: { id: string }) => ({ type: "item_reference", id: item.id });
    const second = await (await send(
      way === "full"
        ? { input: [question, reasoning, message, { ...made, arguments: '{"a":1,"b":2}' }, output] }
        : way === "reference"
        ? { input: [question, reference(reasoning), reference(message), reference(made), output] }
        : { input: [output], previous_response_id: first.id },
    )).json();
    assertEquals(second.output[0].content[0].text, "Done.", way);
    await test.send(`/v1/gateway/sessions/${id}/reward`, { reward: 1 });
    const rows = await test.rowsOf(id);
    assertEquals(rows.length, 1, way);
    requireExact(rows, test.model.sampled);
    const missing = await send({ input: [{ type: "item_reference", id: "msg_none" }] });
    assertEquals(missing.status, 400);
    await missing.body?.cancel();
  }
});

Deno.test("gateway streams responses: items are added and done, and the response is completed", async () => {
  await using test = new TestGateway(() => REPLIES[0] ?? "");
  const { key } = await test.open();
  const body = { model: "tiny", input: "add", stream: true, tools: functions };
  const events = eventsOf(await (await test.send(RESPONSES, body, { key })).text());
  assertEquals(events.map(({ type }) => type.replace("response.", "")), [
    "created",
    "in_progress",
    "output_item.added",
    "output_item.done",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "output_item.added",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "output_item.done",
    "completed",
  ]);
  assertEquals(events.map(({ sequence_number }) => sequence_number), [...events.keys()]);
  assertEquals(events.at(-1).response.output.length, 3);
});

Deno.test("gateway names a cut answer in the row when the agent keeps its beginning", async () => {
  await using test = new TestGateway((_, count) => `A long reply ${count}`);
  const { key, id } = await test.open();
  const send = (messages: object[]) =>
    test.send(MESSAGES, { model: "tiny", max_tokens: 9, messages }, { key });
  const question = { role: "user", content: "a" };
  await (await send([question])).body?.cancel();
  await (await send([question, { role: "assistant", content: "A long" }, { role: "user", content: "Go on" }]))
    .text();
  await test.send(`/v1/gateway/sessions/${id}/reward`, { reward: 1 });
  const rows = await test.rowsOf(id);
  assertEquals(rows.map(({ info }) => info.changes), [undefined, [{
    kind: "cut",
    index: 1,
    row: id,
    turn: 1,
  }]]);
  requireExact(rows, test.model.sampled);
});
