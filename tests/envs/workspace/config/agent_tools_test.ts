import { assertEquals } from "@std/assert";
import { withTaskCommands } from "../../../../src/envs/workspace/config/agent_tools.ts";
import { loadAgentConfig } from "../../../../src/envs/workspace/config/load_agent_config.ts";
import { loadWorkspaceTask } from "../../../../src/envs/workspace/config/load_workspace_task.ts";
import { TempFolder } from "../../../temp_folder.ts";

Deno.test("withTaskCommands() adds the commands of a task to those of an agent", async () => {
  const more = "# @yaml\n# docstring: counts to {WINDOW}\n# end_name: end_of_count\ncount() { :; }\n";
  const files = {
    "task.yaml": "id: a\nname: A\ndescription: d\ncommand_files: [more.sh]\n",
    "more.sh": more,
  };
  await using folder = await TempFolder.of(files);
  const agent = await loadAgentConfig();
  const task = await loadWorkspaceTask(folder.path);
  const { tools } = withTaskCommands(agent, task);
  assertEquals(tools.commandFiles.at(-1), { name: "more.sh", kind: "source", contents: more });
  const window = agent.tools.variables.WINDOW;
  assertEquals(
    tools.commandDocs,
    `${agent.tools.commandDocs}count:\n  docstring: counts to ${window}\n  signature: count\n\n`,
  );
  assertEquals([tools.endNames.count, tools.endNames.edit], ["end_of_count", "end_of_edit"]);
  assertEquals(tools.commands?.at(-1)?.name, "count");
  assertEquals(withTaskCommands(agent, { ...task, commandFiles: [] }), agent);
});
