import * as z from "zod";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { EndOnFinalReply } from "../../src/transforms/end_episode.ts";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { openaiPolicy } from "../../src/policy/openai.ts";
import { parseCompletionReply, parseOpenaiReply } from "../../src/policy/openai_reply.ts";
import { sglangPolicy } from "../../src/policy/sglang.ts";
import { messageText, UNNAMED_CALL } from "../../src/message.ts";
import { tool } from "../../src/tools/tool.ts";
import { History } from "../../src/history.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import { ToolTransform } from "../../src/transforms/tool_transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { FakeServer } from "./fake_server.ts";
import REPLIES from "./odd_replies.json" with { type: "json" };

const USAGE = { prompt_tokens: 1, completion_tokens: 1 };

for (const { about, message, expected, usage = USAGE, finish_reason = "stop" } of REPLIES) {
  Deno.test(`parseOpenaiReply() reads ${about}`, () => {
    const reply = parseOpenaiReply({ choices: [{ index: 0, finish_reason, message }], usage }, 1);
    assertEquals(reply.message, { role: "assistant", ...expected });
    const known = usage === USAGE ? { promptTokens: 1, replyTokens: 1 } : undefined;
    assertEquals([reply.usage, typeof reply.finishReason === "string"], [known, finish_reason !== 3]);
  });
}

Deno.test("rollout() answers a call without a name, and sends it back with one", async () => {
  const calls = [{ id: "a", type: "function" }, {
    id: "b",
    type: "custom",
    custom: { name: "add", input: "1 2" },
  }];
  const messages = [{ content: null, tool_calls: calls }, { content: "done" }];
  await using server = new FakeServer(() => Response.json({ choices: [{ message: messages.shift() }] }));
  const add = tool({ name: "add", description: "Adds.", parameters: z.object({}), run: () => 1 });
  const unnamed = { ...add, name: UNNAMED_CALL };
  await using env = new TransformedEnv(new ChatEnv(), [
    new ToolTransform({ tools: [add, unnamed] }),
    new EndOnFinalReply(),
  ]);
  const policy = openaiPolicy({ url: server.url, model: "m" });
  const played = await rollout(env, policy, { id: "t", query: "q" });
  assertEquals([played.error, messageText(played.messages.at(-1) ?? { role: "", content: "" })], [
    undefined,
    "done",
  ]);
  const results = played.messages.filter(({ role }) => role === "tool").map(messageText);
  assertStringIncludes(results[0] ?? "", "a call must have the name of a function");
  assertStringIncludes(results[1] ?? "", "'add'");
  const recorded = JSON.stringify(played.messages);
  assertEquals([recorded.includes('"name":"unnamed"'), recorded.includes('"name":""')], [true, false]);
  const sent = JSON.stringify(server.seen[1]?.body);
  assertStringIncludes(sent, '"name":"unnamed"');
  assertStringIncludes(sent, '"tool_call_id":"a"');
});

Deno.test("parseOpenaiReply() gives the text of an error that came in place of a reply", () => {
  const errors: [unknown, string][] = [
    [{ error: { message: "Provider returned error", code: 502 } }, "it is an error: Provider returned error"],
    [{ error: "overloaded", choices: [] }, "it is an error: overloaded"],
    [{ error: { code: 3 }, choices: null }, '"code":3'],
    [{ object: "error", message: "model went away", code: 400 }, "it is an error: model went away"],
    [{ message: "model went away", error: null }, "it is an error: model went away"],
    [{ object: "error", code: 400 }, '"code":400'],
    [{ detail: "no such model" }, "it is an error: no such model"],
    [{ detail: [{ loc: ["body"], msg: "Field required" }] }, "Field required"],
    [{ choices: null }, "choices"],
    [{ choices: [] }, "choices"],
    [{ choices: [{}] }, "choices.0.message"],
    [null, "choices"],
  ];
  for (const [response, text] of errors) {
    const error = assertThrows(() => parseOpenaiReply(response, 1), TypeError);
    assertStringIncludes(error.message, text);
  }
});

Deno.test("parseCompletionReply() reads an empty text, and a partial usage", () => {
  const response = { choices: [{ text: null, finish_reason: null }], usage: { prompt_tokens: 3 } };
  assertEquals(parseCompletionReply(response, { endOfTurn: "" }), {
    message: { role: "assistant", content: "" },
  });
});

Deno.test("sglangPolicy() reads counts and finish reasons that are not of its kind", async () => {
  const counts = [{ prompt_tokens: "5", completion_tokens: null }, {
    prompt_tokens: -1,
    completion_tokens: 2,
  }];
  await using server = new FakeServer((_, number) =>
    Response.json({ text: "x", meta_info: { finish_reason: 3, ...counts[number - 1] } })
  );
  const prompt = History.fromChats([{ role: "user", content: "q" }]);
  for (const _ of counts) {
    const reply = await sglangPolicy({ url: server.url }).reply(prompt, {
      task: { id: "t", query: "q" },
      text: "q",
    });
    assertEquals(reply, { message: { role: "assistant", content: "x" } });
  }
});

Deno.test("rollout() takes a reply that a gateway gave up as no reply, with the gateway's text", async () => {
  const error = { code: 502, message: "Upstream idle timeout exceeded" };
  for (const finish_reason of ["error", "insufficient_system_resource"]) {
    const choice = { message: { content: "The answer is" }, finish_reason, error };
    await using server = new FakeServer(() => Response.json({ choices: [choice] }));
    await using env = new TransformedEnv(new ChatEnv(), [new EndOnFinalReply()]);
    const policy = openaiPolicy({ url: server.url, model: "m" });
    const { error: failure, messages } = await rollout(env, policy, { id: "t", query: "q" });
    assertEquals([failure?.fault, messages.length], ["aborted", 1]);
    assertStringIncludes(failure?.message ?? "", "Upstream idle timeout exceeded");
  }
});
