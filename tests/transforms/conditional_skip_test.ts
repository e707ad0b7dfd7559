import { assertEquals } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { ConditionalSkip } from "../../src/transforms/conditional_skip.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

const skipsEmpty = new ConditionalSkip({
  cond: (action) => action.history?.response?.last?.content === "",
});

Deno.test("ConditionalSkip: a skipped step still runs forward hooks", async () => {
  const penalty: Transform = { step: (step, { action }) => action?.skip ? { ...step, reward: -1 } : step };
  await using env = new TransformedEnv(new ChatEnv(), [skipsEmpty, penalty]);
  await env.reset({ id: "t", query: "q" });
  const skipped = await env.step(replyAction(""));
  assertEquals({ reward: skipped.reward, length: skipped.history.prompt.length }, { reward: -1, length: 1 });
  const taken = await env.step(replyAction("a"));
  assertEquals({ reward: taken.reward, length: taken.history.prompt.length }, { reward: null, length: 2 });
});

Deno.test("ConditionalSkip passes the observation to an async condition", async () => {
  const cond = (
    _action: object,
    { observation }: { observation?: { history: { prompt: { length: number } } } },
  ) => Promise.resolve(observation?.history.prompt.length === 2);
  await using env = new TransformedEnv(new ChatEnv(), [new ConditionalSkip({ cond })]);
  await env.reset({ id: "t", query: "q" });
  for (const length of [2, 2, 2]) {
    assertEquals((await env.step(replyAction("a"))).history.prompt.length, length);
  }
});

Deno.test("ConditionalSkip ends under a StepCounter", async () => {
  const always = new ConditionalSkip({ cond: () => true });
  await using env = new TransformedEnv(new ChatEnv(), [always, new StepCounter({ maxSteps: 2 })]);
  await env.reset({ id: "t", query: "q" });
  assertEquals((await env.step(replyAction("a"))).truncated, false);
  assertEquals((await env.step(replyAction("a"))).truncated, true);
});

Deno.test("ConditionalSkip keeps an action that another transform skipped", async () => {
  const never = new ConditionalSkip({ cond: () => false });
  const always = new ConditionalSkip({ cond: () => true });
  await using env = new TransformedEnv(new ChatEnv(), [never, always]);
  await env.reset({ id: "t", query: "q" });
  assertEquals((await env.step(replyAction("a"))).history.prompt.length, 1);
});
