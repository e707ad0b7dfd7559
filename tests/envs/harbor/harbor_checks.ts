/**
 * Plays sixty tasks in Harbor's format with an oracle and with an agent that does nothing, and cheats on those tasks. The
 * packages of the tasks come from a package index.
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { createInstallation } from "../../../src/cli/packages/sources.ts";
import { withRequirements } from "../../../src/cli/packages/with_deps.ts";
import { cacheDirectory } from "../../../src/cli/sandbox_options.ts";
import { replyAction } from "../../../src/envs/action.ts";
import { checkHarborTasks } from "../../../src/envs/harbor/check.ts";
import { findHarborTasks, loadHarborTask } from "../../../src/envs/harbor/config/load_task.ts";
import { HarborEnv, harborEnvTask } from "../../../src/envs/harbor/harbor_env.ts";
import { HarborTasks } from "../../../src/envs/harbor/harbor_tasks.ts";
import { CHEATS, MODULE_CHEATS } from "./cheats.ts";
import { makeTasks, writeTasks } from "./made_tasks.ts";

Deno.test({
  name: "Harbor's tasks pay for the work, and for nothing else",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(test) {
    const made = makeTasks();
    assertEquals(made.length, 60);
    await using folder = await writeTasks(made);
    const folders = await findHarborTasks(folder.path);
    const loaded = await Promise.all(folders.map((path) => loadHarborTask(path)));
    const cacheDir = cacheDirectory(undefined);
    const installation = createInstallation({ yes: true }, {
      cacheDir,
      signal: new AbortController().signal,
    });
    await using tasks = new HarborTasks({
      tasks: loaded,
      resetMode: "rewind",
      addPackages: (profile, requirements) => withRequirements(profile, requirements, installation),
    });
    await using env = new HarborEnv({ tasks });
    const play = async (id: string, replies: readonly string[]) => {
      await env.reset(await harborEnvTask(tasks.task(id)));
      let last;
      for (const reply of replies) last = await env.step(replyAction(reply));
      return last?.reward ?? last?.unscored;
    };

    await test.step("check says that each task runs", async () => {
      const checks = await checkHarborTasks(tasks);
      assertEquals(checks.filter(({ runs }) => !runs), []);
    });
    await test.step("the oracle gets 1", async () => {
      const rewards: [string, unknown][] = [];
      for (const { id } of loaded) {
        const { replies = [] } = await harborEnvTask(tasks.task(id));
        rewards.push([id, await play(id, replies)]);
      }
      assertEquals(rewards.filter(([, reward]) => reward !== 1), []);
    });
    await test.step("an agent that does nothing gets 0", async () => {
      const rewards: [string, unknown][] = [];
      for (const { id } of loaded) rewards.push([id, await play(id, ["Nothing to do."])]);
      assertEquals(rewards.filter(([, reward]) => reward !== 0), []);
    });
    const paid: unknown[] = [];
    const cheat = async (id: string, { name, commands }: { name: string; commands: string }) => {
      const reward = await play(id, [`\`\`\`bash\n${commands}\n\`\`\``, "Done."]);
      if (reward !== 0) paid.push([id, name, reward]);
    };
    await test.step("cheats get 0", async () => {
      for (const each of CHEATS) {
        for (const family of ["column_sum", "json_report", "uvx_pytest", "parts"]) {
          await cheat(`${family}_1`, each);
        }
      }
      for (const each of MODULE_CHEATS) {
        for (const family of ["fix_module", "unit_tests", "uvx_pytest"]) await cheat(`${family}_1`, each);
      }
      assertEquals(paid, []);
    });
  },
});

Deno.test("the checked folder of Harbor's own templates is read", async () => {
  const path = Deno.env.get("PADDOCK_HARBOR");
  if (path === undefined) return; // a folder of the package, which holds templates of tasks
  const task = await loadHarborTask(join(path, "cli/template-task"));
  assertEquals(task.faults, []);
});
