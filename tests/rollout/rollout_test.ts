import { assert, assertEquals, assertObjectMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import type { Env } from "../../src/envs/env.ts";
import { calculatorPolicy } from "../../src/policy/calculator.ts";
import type { History } from "../../src/history.ts";
import type { Policy, Reply } from "../../src/policy/policy.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { numberMatch } from "../../src/rewards/text_match.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import type { SessionPool } from "../../src/sandbox/contract/pool.ts";
import { EndOnFinalReply } from "../../src/transforms/end_episode.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { fakeArithmetic } from "../fake_arithmetic.ts";
import { PADDOCK_VERSION } from "../../src/version.ts";
import { bad, FakePool, ok } from "../fake_pool.ts";

function pythonEnv(pool: SessionPool): Env {
  return new TransformedEnv(new ChatEnv(), [
    new PythonInterpreter({ pool }),
    new EndOnFinalReply(),
    new GradeEpisode({ grader: numberMatch() }),
  ]);
}

Deno.test("rollout() plays an episode to its end and records it", async () => {
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

Deno.test("rollout() with calculatorPolicy() computes a reference solution in two turns", async () => {
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

Deno.test("rollout() hides the answer from the policy", async () => {
  const seen: unknown[] = [];
  const policy: Policy = {
    reply: (history, { task }) => Promise.resolve(`${seen.push(JSON.stringify({ history, task }))}`),
  };
  await using env = pythonEnv(new FakePool());
  await rollout(env, policy, { id: "t", query: "q", answer: "SECRET" });
  assertEquals(seen.map((text) => String(text).includes("SECRET")), [false]);
});

Deno.test("rollout() truncates an episode at 'maxTurns'", async () => {
  await using env = new ChatEnv();
  const policy: Policy = { reply: () => Promise.resolve("and so on") };
  const { turns, truncated, reward } = await rollout(env, policy, { id: "t", query: "q" }, { maxTurns: 3 });
  assertEquals({ turns, truncated, reward }, { turns: 3, truncated: true, reward: null });
});

Deno.test("rollout() records a failing policy, with the earlier messages", async () => {
  await using env = pythonEnv(new FakePool(() => ok("1\n")));
  const task = { id: "t", query: "q", answer: "1", replies: ["```python\n1\n```"] };
  const { error, reward, messages } = await rollout(env, scriptedPolicy(), task);
  assertEquals({ boundary: error?.boundary, reward, messages: messages.length }, {
    boundary: "policy",
    reward: null,
    messages: 3,
  });
});

Deno.test("rollout() records an invalid reply as the policy's failure", async () => {
  await using env = new ChatEnv();
  const policy = { reply: () => Promise.resolve(JSON.parse("7")) };
  const { error } = await rollout(env, policy, { id: "t", query: "q" });
  assertEquals(error?.boundary, "policy");
});

Deno.test("rollout() records a sandbox failure, with the reply that caused it", async () => {
  await using env = pythonEnv(new FakePool(() => Promise.reject(new Error("pipe broken"))));
  const task = { id: "t", query: "q", replies: ["```python\n1\n```"] };
  const { error, messages, terminated } = await rollout(env, scriptedPolicy(), task);
  assertEquals(error, { boundary: "sandbox", name: "SandboxError", message: "Cannot run code: pipe broken" });
  assertEquals({ terminated, last: messages.at(-1)?.content }, {
    terminated: false,
    last: "```python\n1\n```",
  });
});

Deno.test("rollout() rejects when it is aborted, and for an invalid 'maxTurns'", async () => {
  await using env = new ChatEnv();
  const policy: Policy = { reply: () => Promise.resolve("x") };
  const task = { id: "t", query: "q" };
  const signal = AbortSignal.abort(new TypeError("stop"));
  await assertRejects(() => rollout(env, policy, task, { signal }), TypeError, "stop");
  await assertRejects(() => rollout(env, policy, task, { maxTurns: 0 }), RangeError, "'maxTurns'");
});

Deno.test("rollout() records each turn: its times, its reward, and the server's data", async () => {
  await using env = pythonEnv(new FakePool(() => ok("18\n")));
  const tokens = { ids: [4, 5], logProbs: [-0.1, -0.2] };
  const usage = { promptTokens: 7, replyTokens: 2 };
  const replies: Reply[] = ["```python\n18\n```", "The answer is 18"].map((content, turn) => ({
    message: { role: "assistant", content },
    finishReason: "stop",
    usage,
    tokens,
    weightVersion: `w${turn}`,
  }));
  const script = (history: History) => replies[history.length === 1 ? 0 : 1] ?? "";
  const policy = { ...scriptedPolicy({ script }), name: "m" };
  const played = await rollout(env, policy, { id: "t", query: "q", answer: "18" }, {
    seed: 3,
    sample: 2,
    envName: "python",
  });
  assertEquals([played.sample, played.seed], [2, 3]);
  assertEquals(played.versions, { paddock: PADDOCK_VERSION, policy: "m", env: "python", weights: "w1" });
  const serverData = { finishReason: "stop", usage, tokens };
  assertEquals(played.steps.map(({ policyMs: _policy, envMs: _env, ...rest }) => rest), [
    { turn: 1, reward: null, ...serverData, weightVersion: "w0" },
    { turn: 2, reward: 1, ...serverData, weightVersion: "w1" },
  ]);
  assert(played.steps.every(({ policyMs, envMs }) => policyMs >= 0 && (envMs ?? -1) >= 0));
});

Deno.test("rollout() passes the seed to env and policy", async () => {
  const seen: unknown[] = [];
  await using env = new TransformedEnv(new ChatEnv(), [{
    reset: (observation, { seed }) => {
      seen.push(seed);
      return observation;
    },
  }]);
  const policy: Policy = { reply: (_, { seed }) => Promise.resolve(`${seen.push(seed)}`) };
  await rollout(env, policy, { id: "t", query: "q" }, { seed: 11, maxTurns: 1 });
  assertEquals(seen, [11, 11]);
});

Deno.test("rollout() drops a reply that the server aborted, and keeps the earlier messages", async () => {
  await using env = new ChatEnv();
  const policy = scriptedPolicy({
    script: (history) =>
      history.length < 2
        ? "first"
        : { message: { role: "assistant", content: "half" }, finishReason: "abort" },
  });
  const { error, messages, turns } = await rollout(env, policy, { id: "t", query: "q" });
  assertEquals([error?.boundary, error?.fault, turns, messages.at(-1)?.content], [
    "policy",
    "aborted",
    1,
    "first",
  ]);
});

Deno.test("rollout() uses a reply that was cut off by its length", async () => {
  await using env = pythonEnv(new FakePool());
  const message = { role: "assistant", content: "The answer is 18", is_complete: false };
  const policy = scriptedPolicy({ script: () => ({ message, finishReason: "length" }) });
  const { reward, steps } = await rollout(env, policy, { id: "t", query: "q", answer: "18" });
  assertEquals([reward, steps[0]?.finishReason], [1, "length"]);
});

Deno.test("rollout() ends an episode whose messages are too long, and records it without the last of them", async () => {
  await using env = pythonEnv(new FakePool(() => ok("x".repeat(12 * 1024 * 1024))));
  const replies = Array<string>(4).fill("```python\nprint(1)\n```");
  const { error, messages } = await rollout(env, scriptedPolicy(), { id: "t", query: "q", replies });
  assertEquals(error?.boundary, "env");
  assertStringIncludes(
    error?.message ?? "",
    "its messages must have at most 33554432 characters together: they have ",
  );
  assertEquals(messages.map(({ role }) => role), [
    "user",
    "assistant",
    "tool",
    "assistant",
    "tool",
    "assistant",
  ]);
});
