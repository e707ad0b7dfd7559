import { assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { PolicyError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { openaiPolicy, type OpenaiPolicyOptions } from "../../src/policy/openai.ts";
import { parseOpenaiReply } from "../../src/policy/openai_reply.ts";
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

Deno.test("openaiPolicy() returns the message, the finish reason and the token counts of a chat completion", async () => {
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

Deno.test("openaiPolicy() sends no sampling options by default", async () => {
  const { body } = await replyOf(completion({ content: "" }));
  assertEquals(Object.keys(body), ["model", "messages"]);
});

Deno.test("openaiPolicy() sends the env's tools and parses their calls", async () => {
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

Deno.test("openaiPolicy() marks a truncated reply as incomplete, and returns a refusal as content", async () => {
  const cut = await replyOf(completion({ content: "half" }, { finish_reason: "length" }));
  assertEquals(typeof cut.reply === "string" ? null : cut.reply.message, {
    role: "assistant",
    content: "half",
    is_complete: false,
  });
  const refused = await replyOf(completion({ refusal: "I will not" }));
  assertEquals(typeof refused.reply === "string" ? null : refused.reply.message.content, "I will not");
});

Deno.test("openaiPolicy() separates reasoning from content", async () => {
  for (const key of ["reasoning_content", "reasoning"]) {
    const cut = await replyOf(completion({ content: null, [key]: "hm" }, { finish_reason: "length" }));
    assertEquals(typeof cut.reply === "string" ? null : cut.reply.message, {
      role: "assistant",
      content: "",
      reasoning_content: "hm",
      is_complete: false,
    });
  }
  const plain = await replyOf(completion({ content: "a", reasoning: null, reasoning_content: "" }));
  assertEquals(typeof plain.reply === "string" ? null : plain.reply.message, {
    role: "assistant",
    content: "a",
  });
  await using fake = new FakeServer(() => completion({ content: "b" }));
  const thought = { role: "assistant", content: "a", reasoning_content: "hm" };
  await openaiPolicy({ url: fake.url, model: "m" }).reply(History.fromChats([thought]), { task: TASK });
  assertEquals(fake.seen[0]?.body.messages, [{ role: "assistant", content: "a" }]);
});

Deno.test("openaiPolicy() accepts content in text parts and no other parts", async () => {
  const parts = ["a ", "b"].map((text) => ({ type: "text", text }));
  const { reply } = await replyOf(completion({ content: parts }));
  assertEquals(typeof reply === "string" ? null : reply.message.content, "a b");
  const image = completion({ content: [{ type: "image_url", image_url: { url: "x" } }] });
  await assertRejects(() => replyOf(image), PolicyError, "choices.0.message.content");
});

Deno.test("openaiPolicy() omits log-probabilities when one is null", async () => {
  const logprobs = { content: [{ logprob: -0.5 }, { logprob: null }] };
  const answer = Response.json({ choices: [{ message: { content: "ab" }, token_ids: [1, 2], logprobs }] });
  const { reply } = await replyOf(answer);
  assertEquals(typeof reply === "string" ? null : reply.tokens, { ids: [1, 2] });
});

Deno.test("openaiPolicy() returns vLLM's token ids with their log-probabilities", async () => {
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

Deno.test("openaiPolicy() rejects a response that is not a chat completion", async () => {
  const answers: [unknown, string][] = [
    [{ choices: [] }, "choices"],
    [{ error: { message: "oops" } }, "answered 200 with an error: oops"],
    [[], "sent a response that is no chat completion"],
    [{ choices: [{ message: { content: [3] } }] }, "choices.0.message.content"],
    [{ choices: [{ message: "a" }] }, "choices.0.message"],
  ];
  for (const [answer, says] of answers) {
    const error = await assertRejects(() => replyOf(Response.json(answer)), PolicyError);
    assertEquals(error.fault, "bad_answer");
    assertStringIncludes(error.message, says);
  }
});

Deno.test("parseOpenaiReply() names the first wrong item of a long list only", () => {
  const message = { content: "a" };
  const logprobs = { content: Array<object>(1000).fill({}) };
  const error = assertThrows(() => parseOpenaiReply({ choices: [{ message, logprobs }] }, 1), TypeError);
  assertMatch(error.message, /^choices\.0\.logprobs\.content\.0\.logprob: [^;]+$/);
});

Deno.test("openaiPolicy() reads the first choice only, and refuses a response with too many values", async () => {
  const { choices: [first] } = await completion({ content: "Hello." }).json();
  const { reply } = await replyOf(Response.json({ choices: [first, ...Array(40_000).fill({})] }));
  assertEquals(typeof reply === "object" && reply.message.content, "Hello.");
  const text = `{"choices":[${"{},".repeat(100_000)}{}]}`;
  const error = await assertRejects(() => replyOf(new Response(text)), PolicyError);
  assertStringIncludes(error.message, "answered with too much: JSON must have at most 100000 values");
});

Deno.test("openaiPolicy() throws for an invalid URL before any request", () => {
  assertThrows(() => openaiPolicy({ url: "localhost", model: "m" }), TypeError, "'url'");
});
