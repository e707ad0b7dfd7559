import { assertEquals, assertRejects } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { GraderError } from "../../src/errors.ts";
import type { Step } from "../../src/envs/env.ts";
import type { GradeContext, Grader } from "../../src/rewards/grader.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

async function rewards(grade: Grader["grade"]): Promise<(number | null)[]> {
  const grader = { name: "test", grade };
  await using env = new TransformedEnv(new ChatEnv(), [
    new StepCounter({ maxSteps: 2 }),
    new GradeEpisode({ grader }),
  ]);
  await env.reset({ id: "t", query: "q" });
  return [(await env.step(replyAction("a"))).reward, (await env.step(replyAction("b"))).reward];
}

Deno.test("GradeEpisode rewards only the last step", async () => {
  assertEquals(await rewards(({ history }) => history.last?.content === "b" ? 0.5 : 0), [null, 0.5]);
});

Deno.test("GradeEpisode shows a grader the calls from code of all steps, and of no earlier episode", async () => {
  const call = { caller: "code", call: 1, callId: "c", tool: "search", status: "ok", durationMs: 1 } as const;
  const block = { call: 1, tool: "python", status: "ok", text: "", durationMs: 1, truncated: false } as const;
  const calls = [{ ...call, truncated: false }];
  const made = { step: (step: Step) => ({ ...step, toolResults: [{ ...block, callId: "b", calls }] }) };
  const grader = { name: "test", grade: ({ codeCalls = [] }: GradeContext) => codeCalls.length };
  const transforms = [made, new StepCounter({ maxSteps: 3 }), new GradeEpisode({ grader })];
  await using env = new TransformedEnv(new ChatEnv(), transforms);
  for (const id of ["1", "2"]) {
    await env.reset({ id, query: "q" });
    const rewards = [];
    for (const text of ["a", "b", "c"]) rewards.push((await env.step(replyAction(text))).reward);
    assertEquals(rewards, [null, null, 3]);
  }
});

Deno.test("GradeEpisode gives no reward when there is no score", async () => {
  assertEquals(await rewards(() => null), [null, null]);
});

Deno.test("GradeEpisode throws a GraderError with its cause when the grader fails", async () => {
  const boom = new Error("boom");
  const error = await assertRejects(() => rewards(() => Promise.reject(boom)), GraderError, "'test': boom");
  assertEquals(error.cause, boom);
  await assertRejects(() => rewards(() => NaN), GraderError, "current value is NaN");
});
