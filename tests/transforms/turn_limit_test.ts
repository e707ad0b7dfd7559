import { assertEquals, assertThrows } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/env.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { turnLimit } from "../../src/transforms/turn_limit.ts";

Deno.test("turnLimit() truncates at the last turn, counting anew after a reset", async () => {
  await using env = new TransformedEnv(new ChatEnv(), [turnLimit({ turns: 2 })]);
  for (let episode = 0; episode < 2; episode++) {
    await env.reset({ id: "t", query: "q" });
    assertEquals((await env.step(replyAction("a"))).truncated, false);
    assertEquals((await env.step(replyAction("b"))).truncated, true);
  }
});

Deno.test("turnLimit() leaves an episode alone that ended by itself", async () => {
  const ending = { step: (step: Awaited<ReturnType<ChatEnv["step"]>>) => ({ ...step, terminated: true }) };
  await using env = new TransformedEnv(new ChatEnv(), [ending, turnLimit({ turns: 1 })]);
  await env.reset({ id: "t", query: "q" });
  const { terminated, truncated } = await env.step(replyAction("a"));
  assertEquals({ terminated, truncated }, { terminated: true, truncated: false });
});

Deno.test("turnLimit() refuses a number of turns that no episode has", () => {
  for (const turns of [0, 1.5, NaN]) assertThrows(() => turnLimit({ turns }), RangeError, "'turns'");
});
