import { assertEquals, assertStringIncludes } from "@std/assert";
import { CALL_SYNTAXES } from "../../src/gateway/grammar/call_syntaxes.ts";
import { modelSampler } from "../../src/gateway/model/model_sampler.ts";
import { FakeServer } from "../policy/fake_server.ts";
import { requireExact } from "./exact_rows.ts";
import { TestGateway } from "./open_gateway.ts";
import { call, generated, tokenizer } from "./scripted_model.ts";

const callSyntax = CALL_SYNTAXES.qwen25;
const parameters = { type: "object", properties: { a: { type: "number" } } };
const NAMES = ["add", "sub"];
const question = { role: "user", content: "add" };

/** Requests of the dialects, with a choice in the form of each. */
const DIALECTS = {
  "/v1/chat/completions": (choice: object) => ({
    messages: [question],
    tools: NAMES.map((name) => ({ type: "function", function: { name, parameters } })),
    ...choice,
  }),
  "/v1/responses": (choice: object) => ({
    input: [question],
    tools: NAMES.map((name) => ({ type: "function", name, parameters })),
    ...choice,
  }),
  "/v1/messages": (choice: object) => ({
    max_tokens: 500,
    messages: [question],
    tools: NAMES.map((name) => ({ name, input_schema: parameters })),
    ...choice,
  }),
};
type Path = keyof typeof DIALECTS;
const PATHS = Object.keys(DIALECTS) as Path[];

/** Choices by the form of each dialect. */
const CHOICES: Readonly<Record<string, Readonly<Record<Path, object>>>> = {
  required: {
    "/v1/chat/completions": { tool_choice: "required" },
    "/v1/responses": { tool_choice: "required" },
    "/v1/messages": { tool_choice: { type: "any" } },
  },
  named: {
    "/v1/chat/completions": { tool_choice: { type: "function", function: { name: "add" } } },
    "/v1/responses": { tool_choice: { type: "function", name: "add" } },
    "/v1/messages": { tool_choice: { type: "tool", name: "add" } },
  },
  none: {
    "/v1/chat/completions": { tool_choice: "none" },
    "/v1/responses": { tool_choice: "none" },
    "/v1/messages": { tool_choice: { type: "none" } },
  },
  single: {
    "/v1/chat/completions": { parallel_tool_calls: false },
    "/v1/responses": { parallel_tool_calls: false },
    "/v1/messages": { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
  },
};

function bodyOf(path: Path, choice: string, more: object = {}): object {
  return { model: "tiny", ...DIALECTS[path](CHOICES[choice]?.[path] ?? {}), ...more };
}

Deno.test("gateway enforces each tool choice by a grammar, in all dialects, streamed or not", async () => {
  const sub = call("sub", "{}");
  const reply = call("add", '{"a": 1}');
  for (const path of PATHS) {
    await using test = new TestGateway(() => reply, { callSyntax });
    const { key, id } = await test.open();
    const grammars: Record<string, string> = {};
    for (const choice of ["required", "named", "single", "none", "free"]) {
      for (const stream of [false, true]) {
        const response = await test.send(path, bodyOf(path, choice, { stream }), { key });
        assertEquals(response.status, 200, `${path} ${choice}`);
        await response.text();
        const grammar = test.model.sampled.at(-1)?.body.sampling_params.ebnf ?? "";
        assertEquals(grammars[choice] ?? grammar, grammar);
        grammars[choice] = grammar;
      }
    }
    const calls = (name: string) =>
      Object.entries(grammars).filter(([, text]) => text.includes(`\\"${name}\\"`));
    assertEquals(calls("add").map(([choice]) => choice), ["required", "named", "single"], path);
    assertEquals(calls("sub").map(([choice]) => choice), ["required", "single"], path);
    assertEquals(grammars.free, "");
    await test.send(`/v1/gateway/sessions/${id}/reward`, { reward: 1 });
    const rows = await test.rowsOf(id);
    requireExact(rows, test.model.sampled);
    assertEquals(rows.map(({ info }) => info.constrained), [
      ...Array(8).fill([{ turn: 1, by: "tool_choice" }]),
      ...Array(2).fill(undefined),
    ], sub);
  }
});

Deno.test("gateway refuses an answer whose model server has not kept to the tool choice, and records nothing", async () => {
  const replies = {
    required: "I do not call.",
    named: call("sub", "{}"),
    single: `${call("add", "{}")}\n${call("add", "{}")}`,
  };
  for (const path of PATHS) {
    for (const [choice, reply] of Object.entries(replies)) {
      await using test = new TestGateway(() => reply, { callSyntax });
      const { key, id } = await test.open();
      const response = await test.send(path, bodyOf(path, choice), { key });
      assertEquals([response.status, (await test.rowsOf(id)).length], [502, 0], `${path} ${choice}`);
      assertStringIncludes((await response.json()).error.message, "enforce the tool choice");
    }
  }
});

Deno.test("gateway delivers a reply without the required call if a stop text of the agent ended it", async () => {
  await using test = new TestGateway((prompt) => {
    const answer = generated("So", tokenizer.encode("So"), tokenizer.encode(prompt).length);
    const { meta_info } = answer;
    const finish_reason = { type: "stop", matched: "Observation:" };
    return Response.json({ ...answer, meta_info: { ...meta_info, finish_reason } });
  }, { callSyntax });
  const { key } = await test.open();
  const body = bodyOf("/v1/chat/completions", "required", { stop: ["Observation:"] });
  const response = await test.send("/v1/chat/completions", body, { key });
  assertEquals((await response.json()).choices?.[0].message.content, "So");
});

Deno.test("gateway refuses a tool choice by name if calls have special tokens, unless the owner lets the model choose", async () => {
  for (const path of PATHS) {
    await using test = new TestGateway(() => "I do not call.");
    const { key } = await test.open();
    const free = await test.open({ tool_choice: "auto" });
    for (
      const [choice, word] of [["required", "required"], ["named", "add"], ["none", "none"], [
        "single",
        "one call",
      ]]
    ) {
      const response = await test.send(path, bodyOf(path, choice ?? ""), { key });
      assertEquals(response.status, 400, `${path} ${choice}`);
      assertStringIncludes((await response.json()).error.message, word ?? "?");
      const answered = await test.send(path, bodyOf(path, choice ?? ""), { key: free.key });
      assertEquals(answered.status, 200, `${path} ${choice}`);
      await answered.body?.cancel();
    }
    assertEquals(test.model.sampled.length, 4);
  }
});

Deno.test("gateway refuses a choice of a tool that the request does not offer", async () => {
  const wrong = {
    "/v1/chat/completions": [
      { tool_choice: { type: "function", function: { name: "mul" } } },
      { tool_choice: { type: "custom", custom: { name: "add" } } },
      { tool_choice: "required", tools: [] },
      { tool_choice: 7 },
    ],
    "/v1/responses": [
      { tool_choice: { type: "function", name: "mul" } },
      { tool_choice: { type: "web_search" } },
      { tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "mul" }] } },
      { tool_choice: "required", tools: [{ type: "web_search" }] },
    ],
    "/v1/messages": [{ tool_choice: { type: "tool" } }, { tool_choice: { type: "tool", name: "mul" } }],
  };
  await using test = new TestGateway(() => "?", { callSyntax });
  const { key } = await test.open();
  for (const path of PATHS) {
    for (const choice of wrong[path]) {
      const response = await test.send(path, bodyOf(path, "", choice), { key });
      assertEquals(response.status, 400, `${path} ${JSON.stringify(choice)}`);
      assertStringIncludes((await response.json()).error.message, "tool_choice");
    }
  }
  assertEquals(test.model.sampled.length, 0);
});

Deno.test("gateway lets the model call the allowed tools only", async () => {
  await using test = new TestGateway(() => "none needed", { callSyntax });
  const { key } = await test.open();
  const tools = [{ type: "function", function: { name: "sub" } }];
  const choice = { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools } } };
  const response = await test.send("/v1/chat/completions", bodyOf("/v1/chat/completions", "", choice), {
    key,
  });
  assertEquals((await response.json()).choices[0].message.content, "none needed");
  const { ebnf } = test.model.sampled[0]?.body.sampling_params ?? {};
  assertEquals([ebnf.includes('\\"sub\\"'), ebnf.includes('\\"add\\"')], [true, false]);
});

Deno.test("gateway sends the tool choice to vLLM as a grammar, and to a server of chats as it is", async () => {
  // deno-lint-ignore no-explicit-any -- the bodies of requests
  const bodies: any[] = [];
  await using server = new FakeServer(({ body, path }) => {
    bodies.push(body);
    if (path.endsWith("/chat/completions")) {
      const tool_calls = [{ id: "1", type: "function", function: { name: "add", arguments: "{}" } }];
      return Response.json({ choices: [{ message: { role: "assistant", content: "", tool_calls } }] });
    }
    return Response.json({ error: { message: "no" } }, { status: 400 });
  });
  const common = { url: server.url, model: "m" };
  {
    await using test = new TestGateway(() => "?", {
      callSyntax,
      sampler: modelSampler({ api: "openai", ...common }),
    });
    const { key } = await test.open();
    const body = bodyOf("/v1/messages", "required");
    await (await test.send("/v1/messages", body, { key })).body?.cancel();
    assertStringIncludes(bodies.at(-1).structured_outputs.grammar, "root ::=");
  }
  await using test = new TestGateway(() => "?", {
    format: undefined,
    sampler: modelSampler({ api: "chat", ...common }),
  });
  const { key } = await test.open();
  const body = { ...bodyOf("/v1/messages", "named") };
  const response = await test.send("/v1/messages", body, { key });
  assertEquals((await response.json()).stop_reason, "tool_use");
  assertEquals(bodies.at(-1).tool_choice, { type: "function", function: { name: "add" } });
});
