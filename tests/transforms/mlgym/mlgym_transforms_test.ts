import { assertEquals, assertThrows } from "@std/assert";
import { type Action, replyAction } from "../../../src/envs/action.ts";
import { loadAgentConfig } from "../../../src/envs/workspace/config/load_agent.ts";
import type { WorkspaceEvaluation } from "../../../src/envs/workspace/evaluation.ts";
import { IsolateCodeBlock } from "../../../src/transforms/mlgym/isolate_code_block.ts";
import { MessageToHistory } from "../../../src/transforms/mlgym/message_to_history.ts";
import {
  MLGymRewardAssignment,
  type RewardAt,
} from "../../../src/transforms/mlgym/mlgym_reward_assignment.ts";
import { TaskSampler } from "../../../src/transforms/mlgym/task_sampler.ts";
import { TemplateTransform } from "../../../src/transforms/mlgym/template_transform.ts";
import type { Task } from "../../../src/task.ts";
import { TransformedEnv } from "../../../src/transforms/transformed_env.ts";
import { type FakeAnswer, FakeWorkspaceEnv, scored } from "./fake_workspace_env.ts";

const agent = await loadAgentConfig();

Deno.test("IsolateCodeBlock refuses an unknown parser and a negative maxRequeries", () => {
  const odd = { ...agent, outputParser: "Best" };
  assertThrows(
    () => new IsolateCodeBlock({ tasks: [], agent: odd }),
    RangeError,
    "the parser must be one of ThoughtActionParser",
  );
  assertThrows(
    () => new IsolateCodeBlock({ tasks: [], agent, maxRequeries: -1 }),
    RangeError,
    "'maxRequeries' must be",
  );
});

Deno.test("MessageToHistory refuses a lastObservations of 0", () => {
  assertThrows(() => new MessageToHistory({ lastObservations: 0 }), RangeError, "'lastObservations' must be");
});

Deno.test("TaskSampler refuses an empty list of tasks", () => {
  assertThrows(() => new TaskSampler({ tasks: [] }), RangeError, "there must be at least one");
});

Deno.test("TemplateTransform refuses to render text without a tokenizer", () => {
  assertThrows(() => new TemplateTransform({}), TypeError, "Cannot apply chat template without a tokenizer.");
});

const WORSE = { evaluation: scored(0.5) };
const BETTER = { evaluation: scored(3) };
const BEST = { evaluation: scored(4) };
const SUBMIT = { evaluation: scored(4, { action: "submit" }), exitStatus: "submitted" };

Deno.test("MLGymRewardAssignment rewards each validate with its gain over the baseline", async () => {
  assertEquals(await rewards([WORSE, {}, BETTER, BETTER, SUBMIT], "validate"), [-0.5, null, 2, 2, null]);
  assertEquals(await rewards([SUBMIT], "validate"), [3]);
});

Deno.test("MLGymRewardAssignment rewards each improvement over the best so far once", async () => {
  const given = await rewards([WORSE, BETTER, BETTER, WORSE, BEST, SUBMIT], "improvement");
  assertEquals(given, [0, 2, 0, 0, 1, 0]);
});

Deno.test("MLGymRewardAssignment rewards the work at the end only", async () => {
  assertEquals(await rewards([BETTER, WORSE, SUBMIT]), [null, null, 3]);
  const broken = { evaluation: missing("submit"), exitStatus: "submission_not_found (submit)" };
  assertEquals(await rewards([BETTER, broken]), [null, 0]);
});

Deno.test("MLGymRewardAssignment uses the metric and its direction under any name", async () => {
  const rmse = (score: number): FakeAnswer => ({
    evaluation: scored(score, {
      metric: "RMSE",
      directions: { RMSE: "minimize", R2: "maximize" },
      baseline: { RMSE: 10, R2: 0 },
    }),
  });
  assertEquals(await rewards([rmse(4), rmse(12)], "validate"), [6, -2]);
  assertEquals(await rewards([{ evaluation: scored(2, { baseline: null }) }], "validate"), [2]);
});

Deno.test("MLGymRewardAssignment gives reward 0 and a reason when an episode ends without a score", async () => {
  await using env = envOf([{ evaluation: missing("validate") }, { exitStatus: "skipped" }]);
  await env.reset({ id: "t", query: "" });
  const validated = await env.step(action(0));
  assertEquals([validated.reward, validated.unscored], [null, undefined]);
  const ended = await env.step(action(1));
  assertEquals([ended.reward, ended.unscored], [0, "the episode ended without an evaluation"]);
});

Deno.test("MLGymRewardAssignment starts over with each episode", async () => {
  await using env = envOf([BETTER, BETTER], "improvement");
  for (let episode = 0; episode < 2; episode++) {
    await env.reset({ id: "t", query: "" });
    assertEquals((await env.step(action(0))).reward, 2);
  }
});

Deno.test("MLGymRewardAssignment refuses an unknown rewardAt", () => {
  const rewardAt = "often" as RewardAt;
  assertThrows(
    () => new MLGymRewardAssignment({ rewardAt }),
    RangeError,
    "'rewardAt' must be one of end, ",
  );
});

async function rewards(answers: readonly FakeAnswer[], rewardAt?: RewardAt): Promise<(number | null)[]> {
  await using env = envOf(answers, rewardAt);
  await env.reset({ id: "t", query: "" });
  const given: (number | null)[] = [];
  for (const index of answers.keys()) given.push((await env.step(action(index))).reward);
  return given;
}

function envOf(answers: readonly FakeAnswer[], rewardAt?: RewardAt): TransformedEnv {
  const fake = new FakeWorkspaceEnv(
    Object.fromEntries(answers.map((answer, index) => [String(index), answer])),
  );
  return new TransformedEnv(fake, [new MLGymRewardAssignment({ rewardAt })]);
}

function action(index: number): Action {
  return { ...replyAction("x"), command: String(index) };
}

function missing(action: string): WorkspaceEvaluation {
  const outcome = { status: "missing", message: "there is no submission" } as const;
  return { action, outcome, baseline: { Score: 1 }, directions: {} };
}

Deno.test("TaskSampler plays the task that an episode names, and samples for others", async () => {
  await using env = new TransformedEnv(new FakeWorkspaceEnv(), [
    new TaskSampler({ tasks: ["a", "b"], seed: 1 }),
  ]);
  const playedOf = async (task: Task, seed: number) => {
    const { task: { fields, group }, info } = await env.reset(task, { seed });
    return [fields?.workspace, group, info?.task];
  };
  for (let seed = 0; seed < 8; seed++) {
    assertEquals(await playedOf({ id: "b", query: "" }, seed), ["b", "b", "b"]);
    assertEquals(await playedOf({ id: "x", query: "", fields: { workspace: "a" } }, seed), ["a", "a", "a"]);
    assertEquals((await playedOf({ id: "x", query: "", group: "mine" }, seed))[1], "mine");
  }
  const sampled = await Array.fromAsync(
    Array(16).keys(),
    async (seed) => await playedOf({ id: "x", query: "" }, seed),
  );
  assertEquals(new Set(sampled.map(([workspace]) => workspace)), new Set(["a", "b"]));
  assertEquals(sampled.every(([workspace, group, task]) => workspace === group && group === task), true);
});
