import { assertEquals } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/env.ts";
import { EndOnFinalReply } from "../../src/transforms/end_on_final_reply.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { FakePool } from "../fake_pool.ts";

Deno.test("EndOnFinalReply ends an episode at the first reply that no tool answers", async () => {
  const tools = new PythonInterpreter({ pool: new FakePool() });
  await using env = new TransformedEnv(new ChatEnv(), [tools, new EndOnFinalReply()]);
  await env.reset({ id: "t", query: "q" });
  assertEquals((await env.step(replyAction("```python\n1\n```"))).terminated, false);
  assertEquals((await env.step(replyAction("The answer is 1"))).terminated, true);
});
