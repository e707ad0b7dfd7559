import { assertEquals, assertStringIncludes } from "@std/assert";
import { modelSampler } from "../../src/gateway/model/model_sampler.ts";
import { FakeVllm, type FakeVllmOptions } from "../policy/fake_vllm.ts";
import { requireExact } from "./exact_rows.ts";
import { TestGateway } from "./open_gateway.ts";
import { call, END, tokenizer } from "./scripted_model.ts";

const user = { role: "user", content: "add" };
const tool = { name: "add", description: "Adds.", parameters: { type: "object" } };
const REPLIES = [`<think>\nhm\n</think>\n\n  I add.\n${call("add", '{"b": 2,  "a":1.0}')}`, "It is 3. "];

/** Requests of one turn in each dialect, and how an agent sends the next turn. */
const DIALECTS: Readonly<Record<string, (more: object) => object>> = {
  "/v1/chat/completions": (more) => ({
    messages: [user],
    tools: [{ type: "function", function: tool }],
    ...more,
  }),
  "/v1/responses": (more) => ({ input: [user], tools: [{ type: "function", ...tool }], ...more }),
  "/v1/messages": (more) => ({
    max_tokens: 400,
    messages: [user],
    tools: [{ name: tool.name, input_schema: tool.parameters }],
    ...more,
  }),
};

function serverOf(more: Partial<FakeVllmOptions> = {}): FakeVllm {
  return new FakeVllm({ tokenizer, sample: (_, count) => (REPLIES[count - 1] ?? "?") + END, ...more });
}

function gatewayOf(server: FakeVllm): TestGateway {
  return new TestGateway(() => "?", {
    sampler: modelSampler({ api: "openai", url: server.url, model: "m" }),
  });
}

Deno.test("gateway sends vLLM the recorded ids as a prompt, and its rows have the sampled ids and log-probabilities", async () => {
  await using server = serverOf();
  await using test = gatewayOf(server);
  const { key, id } = await test.open({ sampling: { top_k: 5, stop: ["Observation:"] } });
  const ask = async (messages: object[]) => {
    const body = { model: "m", ...DIALECTS["/v1/chat/completions"]?.({ messages }) };
    return (await (await test.send("/v1/chat/completions", body, { key })).json()).choices[0].message;
  };
  const first = await ask([user]);
  assertEquals([first.reasoning_content, first.tool_calls[0].function.name], ["hm", "add"]);
  const [{ id: tool_call_id }] = first.tool_calls;
  const args = '{"a":1,"b":2}'; // as pydantic-ai and Vercel's SDK write arguments again
  const said = {
    role: "assistant",
    content: null,
    tool_calls: [{ ...first.tool_calls[0], function: { name: "add", arguments: args } }],
  };
  const again = await ask([user, { ...said, content: first.content }, {
    role: "tool",
    tool_call_id,
    content: "3",
  }]);
  assertEquals(again.content, "It is 3. ");
  const { return_token_ids, top_k, stop } = Object(server.served[0]?.body);
  assertEquals([return_token_ids, top_k, stop], [true, 5, ["Observation:"]]);
  const rows = await test.rowsOf(id);
  assertEquals(rows.length, 1);
  requireExact(
    rows,
    server.served.map(({ promptIds: prompt, ids, body }) => ({ prompt, ids, body, text: "" })),
  );
  const [{ log_probs, loss_mask } = { log_probs: null, loss_mask: [] }] = rows;
  const sampled = (log_probs ?? []).filter((_, at) => loss_mask[at] === 1);
  assertEquals(sampled, server.served.flatMap(({ logProbs }) => [...logProbs]));
});

Deno.test("gateway tells an agent of vLLM's context limit in the agent's dialect, streamed or not", async () => {
  const message = "This model's maximum context length is 100 tokens. However, you requested 900 tokens.";
  await using server = serverOf({
    refuse: () => Response.json({ error: { message, type: "BadRequestError", code: 400 } }, { status: 400 }),
  });
  await using test = gatewayOf(server);
  const { key } = await test.open();
  for (const [path, bodyOf] of Object.entries(DIALECTS)) {
    for (const stream of [false, true]) {
      const response = await test.send(path, { model: "m", ...bodyOf({ stream }) }, { key });
      const { error } = await response.json();
      assertEquals([response.status, error.type, error.code], [
        400,
        "invalid_request_error",
        path === "/v1/messages" ? undefined : "context_length_exceeded",
      ]);
      assertStringIncludes(error.message, "prompt is too long");
    }
  }
});

Deno.test("gateway records nothing of a vLLM that encodes the prompt again, or gives no ids", async () => {
  const lies: Partial<FakeVllmOptions>[] = [{ editPrompt: (ids) => ids.slice(1) }, { wire: "openai" }];
  for (const lie of lies) {
    await using server = serverOf(lie);
    await using test = gatewayOf(server);
    const { key, id } = await test.open();
    const body = { model: "m", ...DIALECTS["/v1/chat/completions"]?.({}) };
    const response = await test.send("/v1/chat/completions", body, { key });
    assertEquals([response.status, (await response.json()).error.type], [502, "server_error"]);
    assertEquals(await test.rowsOf(id), []);
  }
});
