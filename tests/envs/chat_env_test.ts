import { assertEquals, assertRejects } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/env.ts";
import { History } from "../../src/history.ts";

const TASK = { id: "t", query: "q" };

Deno.test("ChatEnv.reset() puts the system prompt before the query at each reset", async () => {
  await using env = new ChatEnv({ systemPrompt: "s" });
  const expected = [{ role: "system", content: "s" }, { role: "user", content: "q" }];
  assertEquals((await env.reset(TASK)).history.prompt.toChats(), expected);
  await env.step(replyAction("a"));
  assertEquals((await env.reset(TASK)).history.prompt.toChats(), expected);
});

Deno.test("ChatEnv.step() appends the reply and does not end", async () => {
  await using env = new ChatEnv();
  await env.reset(TASK);
  const { history, reward, terminated, truncated } = await env.step(replyAction("a"));
  assertEquals(history.prompt.toChats(), [{ role: "user", content: "q" }, {
    role: "assistant",
    content: "a",
  }]);
  assertEquals({ reward, terminated, truncated }, { reward: null, terminated: false, truncated: false });
});

Deno.test("ChatEnv.step() uses 'full' unchanged", async () => {
  await using env = new ChatEnv();
  await env.reset(TASK);
  const full = History.fromChats([{ role: "user", content: "other" }]);
  assertEquals((await env.step({ history: { full } })).history.prompt.toChats(), full.toChats());
});

Deno.test("ChatEnv rejects invalid tasks and actions", async () => {
  const env = new ChatEnv();
  await assertRejects(() => env.step(replyAction("a")), Error, "before the first reset");
  await assertRejects(() => env.reset({ id: "t", query: "" }), TypeError, "task 't' is empty");
  await env.reset(TASK);
  await assertRejects(() => env.step({ history: {} }), TypeError, "'history.full' or 'history.response'");
  await env[Symbol.asyncDispose]();
  await env[Symbol.asyncDispose]();
  await assertRejects(() => env.reset(TASK), Error, "disposed");
});
