import { assert, assertEquals, assertRejects } from "@std/assert";
import { DATA_SETS, NOT_PLAYED } from "../../../src/envs/reasoning_gym/data_sets.ts";
import { ReasoningGym } from "../../../src/envs/reasoning_gym/reasoning_gym.ts";
import { History } from "../../../src/history.ts";
import type { Score } from "../../../src/rewards/grader.ts";
import type { Task } from "../../../src/task.ts";
import { runPaddock } from "../../cli/run_paddock.ts";
import { TempFolder } from "../../temp_folder.ts";
import { STAND_IN } from "./stand_in.ts";

async function scoreOf(gym: ReasoningGym, task: Task, reply: string): Promise<Score> {
  return await gym.grader.grade({
    task,
    history: History.fromChats([{ role: "assistant", content: reply }]),
  }) as Score;
}

Deno.test("ReasoningGym plays a data set by its own score, or by the full score or 0", async () => {
  await using folder = await TempFolder.of(STAND_IN);
  await using cache = await TempFolder.of(); // beside the package, as a change of the package makes another image
  const open = { path: folder.path, dataSet: "leg_counting", cacheDir: cache.path };
  await using gym = await ReasoningGym.open(open);
  await using strict = await ReasoningGym.open({ ...open, fullScore: true });
  const tasks = await Array.fromAsync(gym.tasks({ seed: 1, count: 2 }));
  assertEquals(await Array.fromAsync(strict.tasks({ seed: 1, count: 2 })), tasks);
  const [task] = tasks;
  assert(task !== undefined && tasks[1]?.query !== task.query);
  const [right = ""] = task.replies ?? [];
  const answer = right.slice("<answer>".length, -"</answer>".length);
  assertEquals((await scoreOf(gym, task, right)).score, 1);
  const longer = `<answer>${answer}0</answer>`;
  const own = answer.length / (answer.length + 1);
  assertEquals(await scoreOf(gym, task, longer), { score: own, parts: { well_formed: 1 } });
  assertEquals(await scoreOf(strict, task, longer), { score: 0, parts: { well_formed: 1, own_score: own } });
  assertEquals((await scoreOf(strict, task, right)).score, 1);
  assertEquals(await scoreOf(strict, task, "no answer"), { score: 0, parts: { well_formed: 0 } });

  const args = ["--env", "reasoning-gym", "--path", folder.path, "--data-set", "leg_counting"];
  const more = ["--data-set-config", '{"most": 3}', "--full-score", "--limit", "3", "--json"];
  const { code, stdout, stderr } = await runPaddock(["rollout", "--cache-dir", cache.path, ...args, ...more]);
  const rewards = stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).reward);
  assertEquals([code, rewards], [0, [1, 1, 1]], stderr);
});

Deno.test("ReasoningGym.open() refuses a folder without the package, and data sets that cannot be played", async () => {
  await using folder = await TempFolder.of({});
  const open = (dataSet: string) => () => ReasoningGym.open({ path: folder.path, dataSet });
  await assertRejects(open("leg_counting"), Deno.errors.NotFound, "reasoning_gym/factory.py");
  await assertRejects(open("none"), RangeError, "leg_counting");
  await assertRejects(open("rush_hour"), RangeError, "no answer that it accepts");
  await assertRejects(open("zebra_puzzles"), RangeError, "it needs pycosat");
  assertEquals(Object.keys(DATA_SETS).filter((name) => Object.hasOwn(NOT_PLAYED, name)), []);
});

Deno.test("paddock rollout --env reasoning-gym refuses wrong options", async () => {
  const refused: readonly (readonly [args: readonly string[], message: string])[] = [
    [[], "give --path DIR --data-set NAME"],
    [["--path", ".", "--data-set", "leg_counting", "--data-set-config", "[1]"], "must be a JSON object"],
    [["--path", ".", "--data-set", "rush_hour"], "no answer that it accepts"],
  ];
  for (const [args, message] of refused) {
    const { code, stderr } = await runPaddock(["rollout", "--env", "reasoning-gym", ...args]);
    assertEquals([code, stderr.includes(message)], [2, true], stderr);
  }
});
