import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { toCommandFile, toShellSource } from "../../../src/envs/workspace/commands/commands.ts";
import { loadAgentConfig } from "../../../src/envs/workspace/config/load_agent.ts";
import { loadWorkspaceTask } from "../../../src/envs/workspace/config/load_task.ts";
import type { WorkspaceTask } from "../../../src/envs/workspace/task.ts";
import { HOME, numbered, shellTest } from "./commands/command_shell.ts";

const checkout = Deno.env.get("PADDOCK_MLGYM") ?? "";
if (checkout === "") {
  throw new Error("Cannot test MLGym as PADDOCK_MLGYM must name a checkout: it is not set");
}
const FILES = [
  "defaults.sh",
  "search.sh",
  "edit_linting.sh",
  "insert_linting.sh",
  "submit.sh",
  "validate.sh",
];

async function commands(folder: string): Promise<string> {
  const read = (name: string) => Deno.readTextFile(join(folder, "tools", name));
  const sources = await Promise.all(
    FILES.map(async (name) => toShellSource(toCommandFile(name, await read(name)))),
  );
  const program = `cat > /tmp/split.py << 'END'\n${await read("_split_string.py")}\nEND`;
  return [...sources, program, '_split_string() { python /tmp/split.py "$@"; }'].join("\n");
}

shellTest("MLGym's own command files run", async ({ write, run, printed, read }) => {
  await write("a.py", numbered(30, "x = "));
  assertStringIncludes(await printed("open a.py"), `[File: ${HOME}/a.py (30 lines total)]\n1:x = 1\n`);
  assertStringIncludes(await printed("goto 15"), "\n15:x = 15\n");
  assertStringIncludes(await printed("scroll_down"), "(20 more lines above)");
  const refused = await printed("edit 20:20\nx = missing\nend_of_edit");
  assertStringIncludes(refused, "- F821 undefined name 'missing'");
  assertEquals(await read("a.py"), numbered(30, "x = "));
  assertStringIncludes(await printed("edit 20:20\ny = 1\nend_of_edit"), "20:y = 1");
  assertStringIncludes(await printed("insert 0\nimport os\nend_of_insert"), "1:import os");
  assertStringIncludes(await printed("search_file 'y = ' a.py"), "Line 21:y = 1");
  assertStringIncludes(await printed("search_dir 'y ='"), "a.py (1 matches)");
  assertStringIncludes(await printed("find_file '*.py'"), `${HOME}/a.py`);
  assertStringIncludes((await run("validate; submit")).stdout, "||VALIDATION>>\n<<SUBMISSION||");
}, await commands(checkout));

Deno.test("loadWorkspaceTask() reads all tasks of MLGym", async () => {
  const folder = join(checkout, "configs/tasks");
  const tasks = new Map<string, WorkspaceTask>();
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".yaml")) tasks.set(name, await loadWorkspaceTask(join(folder, name)));
  }
  const playable = [...tasks].filter(([, { faults }]) => faults === undefined).map(([name]) => name);
  assertEquals(tasks.size > 10, true);
  for (const name of ["battleOfSexes.yaml", "blotto.yaml", "prisonersDilemma.yaml", "titanic.yaml"]) {
    assertEquals(playable.includes(name), true, name);
  }
  const game = tasks.get("blotto.yaml")?.evaluation;
  assertEquals([game?.submission, game?.files.map(({ path }) => path)], [["strategy.py"], ["target.py"]]);
});

Deno.test("loadAgentConfig() reads all agents of MLGym", async () => {
  const folder = join(checkout, "configs/agents");
  let count = 0;
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".yaml")) continue;
    const agent = await loadAgentConfig(join(folder, name));
    assertEquals([agent.lastObservations, agent.tools.stateCommand?.name], [5, "state"]);
    count++;
  }
  assertEquals(count > 3, true);
});
