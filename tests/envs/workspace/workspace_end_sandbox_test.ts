import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { WorkspaceEnv } from "../../../src/envs/workspace/workspace_env.ts";
import { output, withWorkspace } from "./open_workspace.ts";

const ENDS: readonly { act: string; before?: string; says: string; status: string; scored?: number }[] = [
  { act: " skip\n", says: "Skipped", status: "skipped" },
  { act: "exit_forfeit", says: "Exited (exit_forfeit)", status: "exit_forfeit" },
  { act: "exit_context", says: "Exited (exit_context)", status: "autosubmission (exit_context)", scored: 1 },
  { act: "exit_cost", says: "Exited (exit_cost)", status: "autosubmission (exit_cost)", scored: 1 },
  { act: "exit_error", says: "Exited (exit_error)", status: "autosubmission (exit_error)", scored: 1 },
  { act: "exit_format", says: "Exited (exit_format)", status: "autosubmission (exit_format)", scored: 1 },
  { act: "exit_api", says: "Exited (exit_api)", status: "autosubmission (exit_api)", scored: 1 },
  { act: "submit", before: "echo 7 > answer.txt", says: "Exited (submit)", status: "submitted", scored: 7 },
  {
    act: "submit",
    before: "rm answer.txt",
    says: "Exited (submit)",
    status: "submission_not_found (submit)",
  },
  {
    act: "exit_cost",
    before: "echo many > answer.txt",
    says: "Exited (exit_cost)",
    status: "evaluation_format_error (exit_cost)",
  },
  {
    act: "submit",
    before: "echo -1 > answer.txt",
    says: "Exited (submit)",
    status: "evaluation_failed (submit)",
  },
];

Deno.test("WorkspaceEnv ends at the agent's request, with the matching exit status", async (t) => {
  await withWorkspace(async ({ env, act }) => {
    for (const { act: action, before, says, status, scored } of ENDS) {
      await t.step(`${before ?? ""} ${action}`, async () => {
        await env.reset({ id: "bench", query: "" });
        if (before !== undefined) assertEquals((await act(before)).terminated, false);
        const step = await act(action);
        const scores = scored === undefined ? {} : { scores: { Score: scored } };
        assertEquals(step.workspace.output, says);
        assertEquals(step.workspace.exitStatus, status);
        assertEquals([step.terminated, step.truncated, step.reward], [true, false, null]);
        assertEquals(step.info, { exitStatus: status, ...scores });
        await assertRejects(() => act("ls"), Error, "no episode is running");
      });
    }
  });
});

Deno.test("WorkspaceEnv evaluates the current work when no steps are left, and runs no further command", async () => {
  await withWorkspace(async ({ act, evaluator }) => {
    assertEquals((await act("echo 2 > answer.txt")).workspace.currentStep, 1);
    assertEquals((await act("echo 3 > answer.txt")).terminated, false);
    const last = await act("echo 4 > answer.txt");
    assertEquals([last.terminated, last.truncated], [true, false]);
    assertEquals(last.workspace.exitStatus, "autosubmission (max_steps)");
    assertEquals(last.info?.scores, { Score: 3 });
    assertEquals(last.reward, 2);
    assertEquals(evaluator.given.length, 2, "the work, and the baseline");
  }, { maxSteps: 2, reward: "end" });
});

Deno.test("WorkspaceEnv reports a validation to the agent, and the episode continues", async () => {
  await withWorkspace(async ({ act }) => {
    await act("echo 0.5 > answer.txt");
    const { workspace, terminated } = await act("validate");
    assertEquals(
      workspace?.output,
      "Your code produced a valid submission artefact at /home/agent/workspace/answer.txt.\n" +
        "Baseline Score: {'Score': 1.0}\nEvaluation Score: {'Score': 0.5}",
    );
    assertEquals(terminated, false);
    assertEquals(workspace?.evaluation, {
      action: "validate",
      outcome: { status: "scored", scores: { Score: 0.5 }, artefact: "answer.txt" },
      baseline: { Score: 1 },
      directions: { Score: "maximize" },
      metric: "Score",
    });
    assertEquals((await act("ls")).workspace.evaluation, undefined);
    for (
      const [before, words] of [
        ["rm answer.txt", "There is nothing to evaluate yet: there is no 'answer.txt'"],
        ["echo '{}}' > answer.txt", "The evaluation gave no metrics. This is what it printed:\n---\n{}}\n"],
        ["echo -5 > answer.txt", "The evaluation did not succeed: it is less than nothing"],
        ["rm answer.txt; ln -s data/train.csv answer.txt", "'answer.txt' could not be read"],
        ["rm answer.txt; mkdir answer.txt", "'answer.txt' could not be read"],
      ] as const
    ) {
      await act(before);
      assertStringIncludes(await output(act("validate")) ?? "", words);
    }
  });
});

Deno.test("WorkspaceEnv uses the task's baseline, or reports that there is none", async () => {
  await withWorkspace(async ({ act, evaluator }) => {
    assertStringIncludes(await output(act("validate")) ?? "", "\nBaseline Score: {'Score': 2.5}\n");
    assertEquals(evaluator.given.length, 1);
  }, { plan: { baseline: { Score: 2.5 } } });
  await withWorkspace(async ({ act }) => {
    await act("echo 5 > answer.txt");
    assertStringIncludes(
      await output(act("validate")) ?? "",
      "\nBaseline Score: NA (no baseline was there)\n",
    );
    assertEquals((await act("submit")).reward, null);
  }, { task: { starter: [] }, reward: "end" });
});

Deno.test("WorkspaceEnv gives each evaluation its own seed, derived from the episode's seed", async () => {
  await withWorkspace(async ({ env, evaluator, act }) => {
    const seedsOf = async (seed?: number) => {
      const before = evaluator.seeds.length;
      await env.reset({ id: "bench", query: "" }, { seed });
      for (const command of ["validate", "validate", "submit"]) await act(command);
      return evaluator.seeds.slice(before);
    };
    const seeds = await seedsOf(7);
    assertEquals(new Set(seeds).size, 3, "what one tells of an opponent is worth nothing in the next");
    assertEquals(await seedsOf(7), seeds);
    assertEquals((await seedsOf(8)).filter((seed) => seeds.includes(seed)), []);
    assertEquals(await seedsOf(), [undefined, undefined, undefined]);
  }, { plan: { baseline: { Score: 1 } } });
});

Deno.test("WorkspaceEnv computes its reward in the direction of the metric", async () => {
  await withWorkspace(async ({ act }) => {
    await act("echo 0.25 > answer.txt");
    assertEquals((await act("submit")).reward, 0.75);
  }, { plan: { directions: { Score: "minimize" } }, reward: "end" });
});

Deno.test("WorkspaceEnv handles actions that are not shell commands", async () => {
  await withWorkspace(async ({ act }) => {
    assertEquals(await output(act("echo 9 > answer.txt; git log")), "'git' is not for here");
    assertEquals(await output(act("python")), "'python' is not for here");
    assertStringIncludes(await output(act("edit 1:1\nx")) ?? "", "`end_of_edit`");
    assertMatch(await output(act("echo 9 > answer.txt; if")) ?? "", /^bash: .*syntax error/);
    assertEquals((await act("cat answer.txt")).workspace, {
      output: "1",
      state: '{"open_file":"n/a","working_dir":"/home/agent/workspace"}',
      currentStep: 5,
      maxSteps: 100,
    });
  });
});

Deno.test("WorkspaceEnv.step() rejects without an episode, and without an action", async () => {
  assertThrows(() => new WorkspaceEnv({ workspaces: () => Promise.reject(), maxSteps: 0 }), RangeError);
  await withWorkspace(async ({ env, act, workspace }) => {
    await assertRejects(() => env.step(JSON.parse("{}")), TypeError, "'command'");
    const running = act("echo 5 > answer.txt; sleep 0.2");
    const reset = env.reset({ id: "bench", query: "" });
    await assertRejects(() => running, Error, "no episode is running");
    await reset;
    assertEquals(await output(act("cat answer.txt")), "1");
    await using other = new WorkspaceEnv({ workspaces: () => workspace });
    await assertRejects(() => other.step({ command: "ls" }), Error, "call reset() first");
    await env[Symbol.asyncDispose]();
    await assertRejects(() => act("ls"), Error, "disposed");
    await assertRejects(() => env.reset({ id: "bench", query: "" }), Error, "disposed");
    await other.reset({ id: "bench", query: "" });
    const aborted = AbortSignal.abort(new Error("enough"));
    await assertRejects(() => other.step({ command: "ls" }, { signal: aborted }), Error, "enough");
    assert(!(await other.step({ command: "ls" })).terminated);
  });
});
