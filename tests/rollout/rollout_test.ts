import { assert, assertEquals, assertObjectMatch, assertRejects } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import type { Env } from "../../src/envs/env.ts";
import { calculatorPolicy } from "../../src/policy/calculator.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { numberMatch } from "../../src/rewards/number_match.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import type { SessionPool } from "../../src/sandbox/exec.ts";
import { endOnFinalReply } from "../../src/transforms/end_on_final_reply.ts";
import { gradeEpisode } from "../../src/transforms/grade_episode.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { fakeArithmetic } from "../fake_arithmetic.ts";
import { bad, FakePool, ok } from "../fake_pool.ts";

function pythonEnv(pool: SessionPool): Env {
  return new TransformedEnv(new ChatEnv(), [
    new PythonInterpreter({ pool }),
    endOnFinalReply(),
    gradeEpisode({ grader: numberMatch() }),
  ]);
}

Deno.test("rollout() plays an episode to its end and writes it down", async () => {
  const pool = new FakePool((code) => code === "1 / 0" ? bad("error") : ok("18\n"));
  const replies = ["```python\n1 / 0\n```\n```python\nprint(18)\n```", "The answer is 18"];
  await using env = pythonEnv(pool);
  const trajectory = await rollout(env, scriptedPolicy(), { id: "t", query: "q", answer: "18", replies });
  assertObjectMatch(trajectory, {
    task: { id: "t" },
    reward: 1,
    turns: 2,
    terminated: true,
    truncated: false,
  });
  assertEquals(trajectory.error, undefined);
  assertEquals(trajectory.messages.map(({ role }) => role), [
    "user",
    "assistant",
    "tool",
    "tool",
    "assistant",
  ]);
  assertEquals(trajectory.toolResults.map(({ turn, call, status }) => [turn, call, status]), [
    [1, 1, "error"],
    [1, 2, "ok"],
  ]);
  assert(trajectory.times.totalMs >= trajectory.times.envMs);
});

Deno.test("rollout() with calculatorPolicy() works a reference out over two turns", async () => {
  await using env = pythonEnv(new FakePool(fakeArithmetic));
  const reference = "<<24*15=360>> <<360*40=14400>> <<14400*.1=1440>> <<14400-1440=12960>>";
  const task = { id: "t", query: "q", answer: "12,960", reference };
  const { reward, messages, turns } = await rollout(env, calculatorPolicy(), task);
  assertEquals({ reward, turns, last: messages.at(-1)?.content }, {
    reward: 1,
    turns: 3,
    last: "The answer is <answer>12960</answer>",
  });
});

Deno.test("rollout() never shows the answer to the policy", async () => {
  const seen: unknown[] = [];
  const policy: Policy = {
    reply: (history, { task }) => Promise.resolve(`${seen.push(JSON.stringify({ history, task }))}`),
  };
  await using env = pythonEnv(new FakePool());
  await rollout(env, policy, { id: "t", query: "q", answer: "SECRET" });
  assertEquals(seen.map((text) => String(text).includes("SECRET")), [false]);
});

Deno.test("rollout() truncates an episode that its env would let go on", async () => {
  await using env = new ChatEnv();
  const policy: Policy = { reply: () => Promise.resolve("and so on") };
  const { turns, truncated, reward } = await rollout(env, policy, { id: "t", query: "q" }, { maxTurns: 3 });
  assertEquals({ turns, truncated, reward }, { turns: 3, truncated: true, reward: null });
});

Deno.test("rollout() records a policy that fails, with what was said before", async () => {
  await using env = pythonEnv(new FakePool(() => ok("1\n")));
  const task = { id: "t", query: "q", answer: "1", replies: ["```python\n1\n```"] };
  const { error, reward, messages } = await rollout(env, scriptedPolicy(), task);
  assertEquals({ boundary: error?.boundary, reward, messages: messages.length }, {
    boundary: "policy",
    reward: null,
    messages: 3,
  });
});

Deno.test("rollout() records a reply that is no text as the policy's failure", async () => {
  await using env = new ChatEnv();
  const policy = { reply: () => Promise.resolve(JSON.parse("7")) };
  const { error } = await rollout(env, policy, { id: "t", query: "q" });
  assertEquals(error?.boundary, "policy");
});

Deno.test("rollout() records a sandbox that breaks, with the reply that broke it", async () => {
  await using env = pythonEnv(new FakePool(() => Promise.reject(new Error("pipe broken"))));
  const task = { id: "t", query: "q", replies: ["```python\n1\n```"] };
  const { error, messages, terminated } = await rollout(env, scriptedPolicy(), task);
  assertEquals(error, { boundary: "sandbox", name: "SandboxError", message: "Cannot run code: pipe broken" });
  assertEquals({ terminated, last: messages.at(-1)?.content }, {
    terminated: false,
    last: "```python\n1\n```",
  });
});

Deno.test("rollout() rejects when it is aborted, and when no episode can be played", async () => {
  await using env = new ChatEnv();
  const policy: Policy = { reply: () => Promise.resolve("x") };
  const task = { id: "t", query: "q" };
  const signal = AbortSignal.abort(new TypeError("stop"));
  await assertRejects(() => rollout(env, policy, task, { signal }), TypeError, "stop");
  await assertRejects(() => rollout(env, policy, task, { maxTurns: 0 }), RangeError, "'maxTurns'");
});
