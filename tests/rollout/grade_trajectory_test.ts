import { assertEquals, assertRejects } from "@std/assert";
import type { Grader } from "../../src/rewards/grader.ts";
import { gradeTrajectory } from "../../src/rollout/grade_trajectory.ts";
import { emptyTrajectory, type Trajectory } from "../../src/rollout/trajectory.ts";

const EPISODE: Trajectory = {
  ...emptyTrajectory({ id: "a", query: "q", answer: "1", fields: { level: 3 } }),
  messages: [{ role: "user", content: "q" }, { role: "assistant", content: "1" }],
  reward: 0.25,
  rewardParts: { old: 0.25 },
};

const grader: Grader = {
  name: "levels",
  grade: ({ task, history }) => ({ score: history.length, parts: { level: Number(task.fields?.level) } }),
};

const broken: Grader = { name: "broken", grade: () => Promise.reject(new Error("no judge")) };

Deno.test("gradeTrajectory() replaces the reward by a score with its parts", async () => {
  const { reward, rewardParts } = await gradeTrajectory(EPISODE, grader);
  assertEquals({ reward, rewardParts }, { reward: 2, rewardParts: { levels: 2, level: 3 } });
});

Deno.test("gradeTrajectory() records why there is no score, until there is one", async () => {
  const without: Grader = { name: "without", grade: () => ({ score: null, reason: "no tests" }) };
  const graded = await gradeTrajectory(EPISODE, without);
  assertEquals([graded.reward, graded.unscored], [null, "no tests"]);
  assertEquals("unscored" in await gradeTrajectory(graded, grader), false);
});

Deno.test("gradeTrajectory() records a failing grader on the episode, with reward null", async () => {
  const { reward, error } = await gradeTrajectory(EPISODE, broken);
  assertEquals({ reward, error }, {
    reward: null,
    error: { boundary: "grader", name: "GraderError", message: "Cannot grade with 'broken': no judge" },
  });
});

Deno.test("gradeTrajectory() leaves a failed episode unscored, and grades again if only a grader had failed", async () => {
  const error = { boundary: "policy", name: "PolicyError", message: "down" } as const;
  const failed = await gradeTrajectory({ ...EPISODE, error }, grader);
  assertEquals([failed.reward, failed.error], [null, error]);
  const again = await gradeTrajectory(await gradeTrajectory(EPISODE, broken), grader);
  assertEquals([again.reward, again.error], [2, undefined]);
  const played = { ...EPISODE, steps: [{ turn: 1, policyMs: 1, envMs: 1, reward: null }] };
  const counted = await gradeTrajectory(await gradeTrajectory(played, broken), grader);
  assertEquals([played.turns, counted.turns], [0, 1]);
});

Deno.test("gradeTrajectory() records the scale of its limits of time in place of an earlier one", async () => {
  const played = { ...EPISODE, timeScale: 3 };
  assertEquals((await gradeTrajectory(played, grader, { timeScale: 2.5 })).timeScale, 2.5);
  assertEquals("timeScale" in await gradeTrajectory(played, grader), false);
  const error = { boundary: "policy", name: "PolicyError", message: "down" } as const;
  assertEquals((await gradeTrajectory({ ...played, error }, grader, { timeScale: 2.5 })).timeScale, 3);
});

Deno.test("gradeTrajectory() rejects when it is aborted", async () => {
  const signal = AbortSignal.abort(new TypeError("stop"));
  const heeding: Grader = { name: "heeding", grade: ({ signal }) => (signal?.throwIfAborted(), 1) };
  await assertRejects(() => gradeTrajectory(EPISODE, heeding, { signal }), TypeError, "stop");
});
