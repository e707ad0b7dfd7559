import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { PolicyError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { openaiPolicy, type OpenaiPolicyOptions } from "../../src/policy/openai.ts";
import type { Reply, ReplyContext } from "../../src/policy/policy.ts";
import { completion, FakeServer } from "./fake_server.ts";

const TASK = { id: "t", query: "q" };

async function replyOf(
  answer: Response,
  options: Partial<OpenaiPolicyOptions> = {},
  context: Partial<ReplyContext> = {},
): Promise<{ reply: Reply | string; body: Record<string, unknown> }> {
  await using fake = new FakeServer(() => answer);
  const policy = openaiPolicy({ url: fake.url, model: "m", ...options });
  const reply = await policy.reply(History.fromChats([{ role: "user", content: "q" }]), {
    task: TASK,
    ...context,
  });
  return { reply, body: fake.seen[0]?.body };
}

Deno.test("openaiPolicy() asks for a chat completion and gives its message, its end and its tokens' count", async () => {
  const { reply, body } = await replyOf(
    completion({ content: "hello" }),
    { temperature: 0.7, maxTokens: 100, body: { top_p: 0.9 } },
    { seed: 5 },
  );
  assertEquals(body, {
    model: "m",
    messages: [{ role: "user", content: "q" }],
    temperature: 0.7,
    max_tokens: 100,
    seed: 5,
    top_p: 0.9,
  });
  assertEquals(reply, {
    message: { role: "assistant", content: "hello" },
    finishReason: "stop",
    usage: { promptTokens: 12, replyTokens: 3 },
  });
});

Deno.test("openaiPolicy() leaves to the server what it was not told", async () => {
  const { body } = await replyOf(completion({ content: "" }));
  assertEquals(Object.keys(body), ["model", "messages"]);
});

Deno.test("openaiPolicy() offers the env's tools and reads calls of them", async () => {
  const parameters = { type: "object", properties: { q: { type: "string" } } };
  const tool_calls = [
    { id: "c1", type: "function", function: { name: "search", arguments: '{"q":"x"}' } },
    { type: "function", function: { name: "search", arguments: '{"q":' } },
  ];
  const { reply, body } = await replyOf(completion({ tool_calls }, { finish_reason: "tool_calls" }), {}, {
    tools: [{ name: "search", description: "finds", parameters }],
  });
  assertEquals(body.tools, [{
    type: "function",
    function: { name: "search", description: "finds", parameters },
  }]);
  assertEquals(typeof reply === "string" ? reply : [reply.message, reply.finishReason], [
    {
      role: "assistant",
      content: "",
      tool_calls: [
        { id: "c1", name: "search", arguments: { q: "x" } },
        { id: "call_1_1", name: "search", arguments: '{"q":' },
      ],
    },
    "tool_calls",
  ]);
});

Deno.test("openaiPolicy() marks a reply that was cut off, and keeps a refusal as words", async () => {
  const cut = await replyOf(completion({ content: "half" }, { finish_reason: "length" }));
  assertEquals(typeof cut.reply === "string" ? null : cut.reply.message, {
    role: "assistant",
    content: "half",
    is_complete: false,
  });
  const refused = await replyOf(completion({ refusal: "I will not" }));
  assertEquals(typeof refused.reply === "string" ? null : refused.reply.message.content, "I will not");
});

Deno.test("openaiPolicy() takes the token ids that vLLM gives, each with its log-probability", async () => {
  const { reply } = await replyOf(Response.json({
    choices: [{
      message: { content: "ab" },
      finish_reason: "stop",
      token_ids: [7, 8],
      logprobs: { content: [{ token: "a", logprob: -0.5 }, { token: "b", logprob: -1 }] },
    }],
  }));
  assertEquals(typeof reply === "string" ? null : reply.tokens, { ids: [7, 8], logProbs: [-0.5, -1] });
});

Deno.test("openaiPolicy() takes nothing for a completion that is none", async () => {
  const answers: [unknown, string][] = [
    [{ choices: [] }, "choices"],
    [{ error: { message: "oops" } }, "choices"],
    [[], "must answer with a chat completion"],
    [{ choices: [{ message: { content: 3 } }] }, "choices.0.message.content"],
    [{ choices: [{ message: { tool_calls: [{ id: "a" }] } }] }, "tool_calls"],
  ];
  for (const [answer, says] of answers) {
    const error = await assertRejects(() => replyOf(Response.json(answer)), PolicyError);
    assertEquals(error.fault, "bad_answer");
    assertStringIncludes(error.message, says);
  }
});

Deno.test("openaiPolicy() refuses an address before anything is asked", () => {
  assertThrows(() => openaiPolicy({ url: "localhost", model: "m" }), TypeError, "'url'");
});
