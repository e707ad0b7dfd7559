import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { withTaskCommands } from "../../../../src/envs/workspace/config/agent_tools.ts";
import { loadAgentConfig } from "../../../../src/envs/workspace/config/load_agent.ts";
import { loadWorkspaceTask } from "../../../../src/envs/workspace/config/load_task.ts";
import { formatTemplate } from "../../../../src/envs/workspace/config/template.ts";
import { TempFolder } from "../../../temp_folder.ts";

const HEAD = "system_template: S\ntask_template: T\n";

Deno.test("loadAgentConfig() returns Paddock's own agent without a path", async () => {
  const agent = await loadAgentConfig();
  const values = {
    command_docs: "DOCS\n",
    name: "N",
    description: "D",
    training_timeout: 60,
    observation: "O",
    current_step: 0,
    remaining_steps: 9,
    open_file: "n/a",
    working_dir: "/w",
    ...agent.tools.variables,
  };
  assertEquals(formatTemplate(agent.systemTemplate, values).includes("DOCS\n"), true);
  const tail = "(Current Step: 0, Remaining Steps: 9)\n(Open file: n/a)\n(Current directory: /w)\nbash-$";
  assertEquals(formatTemplate(agent.taskTemplate, values).endsWith(tail), true);
  assertEquals(formatTemplate(agent.nextStepTemplate, values), `O\n${tail}`);
  assertEquals(formatTemplate(agent.formatErrorTemplate, values).includes("```"), true);
  assertEquals([agent.outputParser, agent.lastObservations], ["ThoughtActionParser", undefined]);
  assertEquals(agent.tools.commandDocs.includes("submit:\n  docstring: "), true);
  assertEquals(agent.tools.endNames.edit, "end_of_edit");
});

Deno.test("loadAgentConfig() reads a YAML file and fills in defaults", async () => {
  await using folder = await TempFolder.of({
    "agent.yaml": `${HEAD}history_processor: Last5Observations\noutput_parser: JsonParser\n` +
      "demonstration_template: 'See {demonstration}'\ndemonstrations: [demo.traj]\n" +
      "tools:\n  command_files: [a.sh, _b.py, c.py]\n  env_variables:\n    WINDOW: 10\n    X: ()\n  parser: ParseCommandBash\n  blocklist: [git]\n",
    "a.sh": "# @yaml\n# docstring: shows {WINDOW} lines\n# end_name: end_of_f\nf() { :; }\n",
    "_b.py": "x = 1\n",
    "c.py": "#!/usr/bin/env python\n",
    "demo.traj": JSON.stringify({
      history: [{ role: "system", content: "s" }, { role: "user", content: "u", agent: "a" }],
    }),
  });
  const agent = await loadAgentConfig(join(folder.path, "agent.yaml"));
  assertEquals([agent.nextStepTemplate, agent.nextStepNoOutputTemplate], ["T", "T"]);
  assertEquals([agent.lastObservations, agent.outputParser], [5, "JsonParser"]);
  assertEquals(agent.demonstrations.map((demo) => demo.toChats()), [[{ role: "user", content: "u" }]]);
  assertEquals(agent.tools.commandFiles.map(({ name, kind }) => [name, kind]), [
    ["a.sh", "source"],
    ["_b.py", "utility"],
    ["c.py", "script"],
    ["hand_in.sh", "source"],
  ]);
  const { commandDocs, endNames, commands = [] } = agent.tools;
  assertEquals(
    commandDocs.split("\n").map((line) => line.split(" - ")[0]),
    ["f", "validate", "submit", ""],
    commandDocs,
  );
  assertEquals(commandDocs.split("\n")[0], "f - shows 10 lines");
  assertEquals(endNames, { f: "end_of_f" });
  assertEquals(commands.map(({ name }) => name), ["f", "validate", "submit"]);
  assertEquals(agent.tools.variables, { WINDOW: 10, X: "()" });
  assertEquals([agent.tools.blocklist, agent.tools.submitCommand], [["git"], "submit"]);
  assertEquals(agent.tools.blocklistStandalone.includes("python3"), true);
});

Deno.test("loadAgentConfig() adds 'validate' and 'submit' if the agent's files lack them", async () => {
  const tools = (submit: string) => `${HEAD}tools:\n  command_files: [a.sh]\n  submit_command: ${submit}\n`;
  await using folder = await TempFolder.of({
    "own.yaml": tools("finish"),
    "none.yaml": tools("submit"),
    "a.sh": "finish() { echo done; }\n",
  });
  const names = async (file: string) => {
    const { tools } = await loadAgentConfig(join(folder.path, file));
    return tools.commands?.map(({ name }) => name);
  };
  assertEquals(await names("own.yaml"), ["finish"]);
  assertEquals(await names("none.yaml"), ["finish", "validate", "submit"]);
});

Deno.test("loadAgentConfig() names the file and the line of an error", async () => {
  const cases = [
    ["system_template: S\n", "line 1: 'task_template' must be a text: it is missing"],
    [`${HEAD}output_parser: Best\n`, "line 3: 'output_parser' must be one of ThoughtActionParser, "],
    [
      `${HEAD}history_processor: LastObservations\n`,
      "line 3: 'history_processor' must be DefaultHistoryProcessor, ",
    ],
    [`${HEAD}tools:\n  blocklst: []\n`, "line 4: 'tools.blocklst' is an unknown key"],
    [
      `${HEAD}tools:\n  command_files:\n  - no.sh\n`,
      "line 5: 'command_files' must name an existing file: there is no 'no.sh'",
    ],
    [
      `${HEAD}tools:\n  command_files: [odd.txt]\n`,
      "line 4: Cannot read command file 'odd.txt' as it must end in .sh",
    ],
    [`${HEAD}demonstrations: [odd.txt]\n`, "line 3: 'odd.txt' must be JSON with a 'history' of messages"],
  ];
  for (const [text = "", message = ""] of cases) {
    await using folder = await TempFolder.of({ "agent.yaml": text, "odd.txt": "" });
    await assertRejects(() => loadAgentConfig(join(folder.path, "agent.yaml")), SyntaxError, message);
  }
  await assertRejects(
    () => loadAgentConfig("/no/such"),
    Deno.errors.NotFound,
    "Cannot read agent at '/no/such'",
  );
});

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
