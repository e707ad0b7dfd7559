import { assertEquals, assertStringIncludes } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import type { Env } from "../../src/envs/env.ts";
import type { Policy, Reply } from "../../src/policy/policy.ts";
import { numberMatch } from "../../src/rewards/text_match.ts";
import { rollout, type RolloutOptions } from "../../src/rollout/rollout.ts";
import { rolloutAll } from "../../src/rollout/rollout_all.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { EndOnAnswer } from "../../src/transforms/end_episode.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

const TASK = { id: "t", query: "q", answer: "18" };

/** A user who says "go on" after each reply. */
const CONTINUE: Transform = {
  step: (step, { action }) =>
    action?.skip
      ? step
      : { ...step, history: { prompt: step.history.prompt.append({ role: "user", content: "go on" }) } },
};

function chat(): Env {
  return new TransformedEnv(new ChatEnv(), [
    CONTINUE,
    new EndOnAnswer(),
    new GradeEpisode({ grader: numberMatch() }),
  ]);
}

/** A policy whose replies have this number of tokens, or as many as it may have. It records what it may have. */
function counting(replyTokens: number | undefined, allowed: unknown[] = []): Policy {
  return {
    reply(_, { maxTokens = Infinity }): Promise<Reply> {
      allowed.push(maxTokens);
      const isCut = maxTokens <= (replyTokens ?? 0);
      return Promise.resolve({
        message: { role: "assistant", content: "It is 18" },
        finishReason: isCut ? "length" : "stop",
        ...(replyTokens !== undefined && {
          usage: { promptTokens: 5, replyTokens: Math.min(replyTokens, maxTokens) },
        }),
      });
    },
  };
}

async function play(policy: Policy, options: RolloutOptions) {
  await using env = chat();
  return await rollout(env, policy, TASK, options);
}

Deno.test("rollout() ends an episode at its limit of tokens, and grades it", async () => {
  const allowed: unknown[] = [];
  const { turns, truncated, terminated, cut, reward, error } = await play(counting(10, allowed), {
    limits: { tokens: 25 },
  });
  assertEquals(allowed, [25, 15, 5]);
  assertEquals([turns, truncated, terminated, cut, reward, error], [3, true, false, "length", 1, undefined]);
  const whole = await play(counting(10), { limits: { tokens: 30 }, cutScore: "none" });
  assertEquals([whole.turns, whole.cut, whole.reward], [3, "length", null]);
});

Deno.test("rollout() fails an episode whose tokens cannot be counted", async () => {
  const { error } = await play(counting(undefined), { limits: { tokens: 25 } });
  assertStringIncludes(error?.message ?? "", "the policy must count those of a reply");
});

Deno.test("rollout() gives up a reply at the limit of time, and grades the replies before", async () => {
  let count = 0;
  const hanging: Policy = {
    reply: (_, { signal }) =>
      ++count % 2 === 1
        ? Promise.resolve("It is 18")
        : new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  };
  const limits = { timeMs: 50 };
  const { turns, truncated, cut, reward, error } = await play(hanging, { limits });
  assertEquals([turns, truncated, cut, reward, error], [1, true, undefined, 1, undefined]);
  count = 1;
  const none = await play(hanging, { limits: { timeMs: 0 } });
  assertEquals([none.turns, none.truncated, none.reward, none.error, none.unscored], [
    0,
    true,
    null,
    undefined,
    "there was no reply within 0 ms",
  ]);
  count = 0;
  const all = await Array.fromAsync(rolloutAll([TASK], { makeEnv: chat, policy: hanging, limits }));
  assertEquals(all.map(({ turns, truncated, reward }) => [turns, truncated, reward]), [[1, true, 1]]);
});

Deno.test("rollout() rejects when it is aborted, also with a limit of time", async () => {
  const abort = new AbortController();
  const policy: Policy = {
    reply(_, { signal }) {
      abort.abort(new Error("stop"));
      signal?.throwIfAborted();
      return Promise.resolve("late");
    },
  };
  await using env = chat();
  const error = await rollout(env, policy, TASK, { limits: { timeMs: 600_000 }, signal: abort.signal }).catch(
    (e) => e,
  );
  assertEquals(error.message, "stop");
});
