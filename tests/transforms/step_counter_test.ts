import { assertEquals, assertThrows } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

Deno.test("StepCounter counts steps from each reset and truncates at the last one", async () => {
  await using env = new TransformedEnv(new ChatEnv(), [new StepCounter({ maxSteps: 2 })]);
  for (let episode = 0; episode < 2; episode++) {
    assertEquals((await env.reset({ id: "t", query: "q" })).stepCount, 0);
    const first = await env.step(replyAction("a"));
    assertEquals({ count: first.stepCount, truncated: first.truncated }, { count: 1, truncated: false });
    const second = await env.step(replyAction("b"));
    assertEquals({ count: second.stepCount, truncated: second.truncated }, { count: 2, truncated: true });
  }
});

Deno.test("StepCounter without a limit counts and never truncates", async () => {
  await using env = new TransformedEnv(new ChatEnv(), [new StepCounter()]);
  await env.reset({ id: "t", query: "q" });
  for (let count = 1; count <= 100; count++) {
    const { stepCount, truncated } = await env.step(replyAction("a"));
    assertEquals({ stepCount, truncated }, { stepCount: count, truncated: false });
  }
});

Deno.test("StepCounter does not truncate a terminated episode", async () => {
  const ending = { step: (step: Awaited<ReturnType<ChatEnv["step"]>>) => ({ ...step, terminated: true }) };
  await using env = new TransformedEnv(new ChatEnv(), [ending, new StepCounter({ maxSteps: 1 })]);
  await env.reset({ id: "t", query: "q" });
  const { terminated, truncated } = await env.step(replyAction("a"));
  assertEquals({ terminated, truncated }, { terminated: true, truncated: false });
});

Deno.test("StepCounter refuses an invalid number of steps", () => {
  for (const maxSteps of [0, 1.5, -1, NaN]) {
    assertThrows(() => new StepCounter({ maxSteps }), RangeError, "'maxSteps'");
  }
});
