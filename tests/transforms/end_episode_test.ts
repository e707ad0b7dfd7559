import { assertEquals } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { gsm8k } from "../../src/rewards/gsm8k.ts";
import { EndOnAnswer, EndOnFinalReply } from "../../src/transforms/end_episode.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { FakePool } from "../fake_pool.ts";

async function play(...replies: string[]): Promise<unknown[]> {
  await using env = new TransformedEnv(new ChatEnv(), [
    new EndOnAnswer(),
    new GradeEpisode({ grader: gsm8k() }),
  ]);
  await env.reset({ id: "t", query: "Use <answer>…</answer>.", answer: "18" });
  const steps: unknown[] = [];
  for (const reply of replies) {
    const { terminated, reward } = await env.step(replyAction(reply));
    steps.push([terminated, reward]);
  }
  return steps;
}

Deno.test("EndOnAnswer ends an episode at its answer, before it is graded", async () => {
  assertEquals(await play("Let me think.", "It is <answer>18</answer>"), [[false, null], [true, 1]]);
  assertEquals(await play("It is <answer>19</answer>"), [[true, 0.1]]);
});

Deno.test("EndOnAnswer continues an episode whose assistant gave no answer", async () => {
  assertEquals(await play("<think><answer>18</answer></think>", "<answer>18"), [[false, null], [
    false,
    null,
  ]]);
});

Deno.test("EndOnAnswer ends an episode even if a tool message follows the answer", async () => {
  const addsTool = {
    step: (step: Awaited<ReturnType<ChatEnv["step"]>>) => ({
      ...step,
      history: { prompt: step.history.prompt.append({ role: "tool", content: "done" }) },
    }),
  };
  await using env = new TransformedEnv(new ChatEnv(), [addsTool, new EndOnAnswer()]);
  await env.reset({ id: "t", query: "q" });
  assertEquals((await env.step(replyAction("<answer>1</answer>"))).terminated, true);
});

Deno.test("EndOnFinalReply ends an episode at the first reply that no tool answers", async () => {
  const tools = new PythonInterpreter({ pool: new FakePool() });
  await using env = new TransformedEnv(new ChatEnv(), [tools, new EndOnFinalReply()]);
  await env.reset({ id: "t", query: "q" });
  assertEquals((await env.step(replyAction("```python\n1\n```"))).terminated, false);
  assertEquals((await env.step(replyAction("The answer is 1"))).terminated, true);
});
