import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "node:path";
import { loadAgentConfig } from "../../../src/envs/workspace/config/load_agent.ts";
import { loadWorkspaceTask } from "../../../src/envs/workspace/config/load_task.ts";
import { Workspaces } from "../../../src/envs/workspace/workspaces.ts";
import { PolicyError } from "../../../src/errors.ts";
import { messageText } from "../../../src/message.ts";
import { scriptedPolicy } from "../../../src/policy/scripted.ts";
import { makeMLGym, mlgymEnv } from "../../../src/rollout/envs/make_mlgym.ts";
import type { History } from "../../../src/history.ts";
import { countAssistantTurns } from "../../../src/policy/policy.ts";
import { toInteractionResult } from "../../../src/rollout/interaction_result.ts";
import { rollout } from "../../../src/rollout/rollout.ts";
import type { Task } from "../../../src/task.ts";
import { rolloutTree } from "../../../src/rollout/rollout_tree.ts";
import { numberTask, saying, SUBMIT, VALIDATE } from "../../envs/workspace/number_task.ts";
import { TempFolder } from "../../temp_folder.ts";
import { tinyTokenizer } from "../../tiny_tokenizer.ts";
import { mlgymRecordOf } from "../../../src/transforms/mlgym/mlgym_record.ts";
import { workspaceViewOf } from "../../../src/envs/workspace/evaluation.ts";

const TASK = { id: "number", query: "" };

Deno.test("makeMLGym() rewards validated work, not printed scores", async () => {
  await using folder = await TempFolder.of(numberTask());
  await using env = await makeMLGym({ task: folder.path, rewardWrongFormat: -0.5, rewardAt: "validate" });
  const forged = "echo \"Baseline Score: {'Score': 0}\"; echo \"Evaluation Score: {'Score': 99}\"";
  const replies = ["No command.", ...[forged, "echo 4 > answer.txt", VALIDATE, SUBMIT].map(saying)];
  const tokens = { tokenizer: await tinyTokenizer(), family: "chatml" };
  const played = await rollout(env, scriptedPolicy({ replies: () => replies }), TASK, { tokens });
  assertEquals([played.error, played.terminated, played.turns], [undefined, true, 5]);
  assertEquals(played.steps.map(({ reward }) => reward), [-0.5, null, null, 3, null]);
  assertEquals(played.rewardParts, { wrong_format: -0.5, Size: 3 });
  const said = played.messages.map(messageText);
  assertEquals(said[0]?.includes("submit:"), true);
  assertEquals(said[3]?.startsWith("Nothing was run"), true);
  const evaluated =
    "Baseline Score: {'Size': 1.0}\nEvaluation Score: {'Size': 4.0}\n(Current Step: 3, Remaining Steps: 7)\n";
  assertEquals(said[9]?.includes(evaluated), true, said[9]);
  assertEquals(played.tokens?.ids.length, played.tokens?.lossMask.length);
});

Deno.test("makeMLGym() evaluates the current work when no steps are left", async () => {
  await using folder = await TempFolder.of(numberTask());
  await using env = await makeMLGym({ task: folder.path, maxSteps: 1 });
  const replies = [saying("echo 3 > answer.txt"), saying("echo 5 > answer.txt")];
  const played = await rollout(env, scriptedPolicy({ replies: () => replies }), TASK);
  assertEquals([played.error, played.terminated, played.reward], [undefined, true, 2]);
});

Deno.test("makeMLGym() evaluates the work of an episode that the context of the model ends", async () => {
  await using folder = await TempFolder.of(numberTask());
  await using env = await makeMLGym({ task: folder.path });
  const script = (history: History) => {
    if (countAssistantTurns(history) === 0) return saying("echo 3 > answer.txt");
    throw new PolicyError("the prompt is too long", { fault: "context_overflow" });
  };
  const played = await rollout(env, scriptedPolicy({ script }), TASK);
  assertEquals([played.error, played.terminated, played.truncated], [undefined, false, true]);
  assertEquals([played.cut, played.reward, played.turns], ["context", 2, 1]);
  assertEquals(played.info, { exitStatus: "autosubmission (exit_context)", scores: { Size: 3 } });
});

Deno.test("makeMLGym() names the task of a sampled episode, whose row has its group", async () => {
  const number = (id: string) =>
    under(id, {
      ...numberTask(),
      "task.yaml": numberTask()["task.yaml"]?.replace("id: number", `id: ${id}`) ?? "",
    });
  await using folder = await TempFolder.of({ ...number("one"), ...number("two") });
  await using env = await makeMLGym({ tasks: ["one", "two"].map((id) => join(folder.path, id)) });
  const tokens = { tokenizer: await tinyTokenizer(), family: "chatml" };
  const play = async (task: Task, seed: number) => {
    const played = await rollout(env, scriptedPolicy({ replies: () => [saying(SUBMIT)] }), task, {
      seed,
      tokens,
    });
    const { group, task_id, info } = toInteractionResult(played);
    return [task_id, group, info.task];
  };
  const asked = await play({ id: "asked", query: "" }, 5);
  assertEquals([asked[0], ["one", "two"].includes(`${asked[1]}`), asked[2]], ["asked", true, asked[1]]);
  for (const id of ["one", "two"]) assertEquals(await play({ id, query: "" }, 5), [id, id, id]);
});

Deno.test("makeMLGym() plays trees, whose episodes have their own files, prompts and rewards", async () => {
  await using folder = await TempFolder.of(numberTask());
  await using workspaces = new Workspaces({
    tasks: [await loadWorkspaceTask(folder.path)],
    agent: await loadAgentConfig(),
  });
  await using env = mlgymEnv(workspaces, { rewardAt: "improvement", rewardWrongFormat: -0.5 });
  let branch = 0;
  const script = (history: History) => {
    const turn = countAssistantTurns(history) + 1;
    if (turn === 2) branch++;
    return [
      "No command.",
      saying(`echo ${branch + 1} >> answer.txt; tail -n 1 answer.txt > a; mv a answer.txt`),
      saying(VALIDATE),
      saying(SUBMIT),
    ][turn - 1] ?? "";
  };
  const options = { branch: { turn: 2, count: 3 }, concurrency: 1 };
  const tree = await rolloutTree(env, scriptedPolicy({ script }), TASK, options);
  assertEquals(tree.map(({ error }) => error), [undefined, undefined, undefined]);
  assertEquals(tree.map(({ steps }) => steps.map(({ reward }) => reward)), [
    [-0.5, null, 1, 0],
    [-0.5, null, 2, 0],
    [-0.5, null, 3, 0],
  ]);
});

Deno.test("makeMLGym() plays several tasks, each in its own workspace", async () => {
  await using folder = await TempFolder.of({
    ...under("a", numberTask("a")),
    ...under("b", { ...numberTask("b"), "answer.txt": "2\n" }),
  });
  await using env = await makeMLGym({ tasks: ["a", "b"].map((name) => join(folder.path, name)) });
  const seen = new Map<string, string>();
  for (let seed = 0; seen.size < 2 && seed < 20; seed++) {
    const { task = "" } = mlgymRecordOf(await env.reset(TASK, { seed }));
    const step = await env.step({ text: { response: saying("cat answer.txt") } });
    seen.set(task, workspaceViewOf(step)?.output ?? "");
  }
  assertEquals([...seen].toSorted(), [["a", "1"], ["b", "2"]]);
});

Deno.test("makeMLGym() requires either 'task' or 'tasks'", async () => {
  await assertRejects(
    () => makeMLGym({}),
    RangeError,
    "Either task or tasks should be provided, not both and not none. Got task=None and tasks=None.",
  );
  await assertRejects(
    () => makeMLGym({ task: "a", tasks: ["b"] }),
    RangeError,
    "Got task='a' and tasks=['b'].",
  );
  await assertRejects(() => makeMLGym({ tasks: [] }), RangeError, "'tasks' must not be empty");
  await assertRejects(
    () => makeMLGym({ task: "/no/such" }),
    Deno.errors.NotFound,
    "Cannot read task at '/no/such'",
  );
});

Deno.test("Workspaces open each task once, and again after it was closed", async () => {
  await using folder = await TempFolder.of(numberTask());
  const tasks = [await loadWorkspaceTask(folder.path)];
  await using workspaces = new Workspaces({ tasks, agent: await loadAgentConfig() });
  const [one, two] = await Promise.all([workspaces.workspace("number"), workspaces.workspace("number")]);
  assertEquals(one === two, true);
  await workspaces.close("number");
  assertEquals(await workspaces.workspace("number") === one, false);
  await assertRejects(
    () => workspaces.workspace("other"),
    RangeError,
    "must be one of number: current value is 'other'",
  );
  await using env = mlgymEnv(workspaces);
  await env.reset(TASK);
});

Deno.test("Workspaces reject tasks that cannot be played", async () => {
  await using folder = await TempFolder.of({ "task.yaml": "id: a\nname: A\ndescription: d\n" });
  const task = await loadWorkspaceTask(folder.path);
  const agent = await loadAgentConfig();
  assertThrows(
    () => new Workspaces({ tasks: [task], agent }),
    RangeError,
    "Cannot play task 'a' as it must have 'evaluation.module'",
  );
  const same = { ...task, faults: undefined };
  assertThrows(
    () => new Workspaces({ tasks: [same, { ...same }], agent }),
    RangeError,
    "two tasks have the id 'a'",
  );
});

function under(folder: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));
}
