import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { numberTask, saying, SUBMIT, VALIDATE } from "../../../envs/workspace/number_task.ts";
import { parseInteraction } from "../../../../src/rollout/interaction_result.ts";
import { messageText } from "../../../../src/message.ts";
import { TempFolder } from "../../../temp_folder.ts";
import { tinyTokenizerFiles } from "../../../tiny_tokenizer.ts";
import { runPaddock } from "../../run_paddock.ts";

function rollout(...args: string[]): ReturnType<typeof runPaddock> {
  return runPaddock(["rollout", "--env", "workspace", ...args]);
}

Deno.test("paddock rollout --env workspace plays tasks with scripted agents and writes the episodes", async () => {
  const replies = [saying("echo 4 > answer.txt"), "Hm.", saying(VALIDATE), saying(SUBMIT)];
  await using folder = await TempFolder.of({
    ...numberTask("one"),
    "other.yaml": numberTask("two")["task.yaml"] ?? "",
    "agent.jsonl": `${JSON.stringify({ id: "one", replies })}\n${
      JSON.stringify({ id: "two", replies: ["x"] })
    }\n`,
  });
  const path = (name: string) => join(folder.path, name);
  const { code, stdout, stderr } = await rollout(
    "--task",
    folder.path,
    "--task",
    path("other.yaml"),
    "--policy",
    `scripted:${path("agent.jsonl")}`,
    "--wrong-format-reward",
    "-0.25",
    "--samples",
    "2",
    "--out",
    path("out.jsonl"),
    "--concurrency",
    "2",
  );
  assertEquals([code, stderr.includes("error:")], [1, false]);
  assertStringIncludes(stdout, "episodes      4");
  const lines = (await Deno.readTextFile(path("out.jsonl"))).trim().split("\n").map((line) =>
    JSON.parse(line)
  );
  const [one, again, ...others] = lines.toSorted((a, b) => a.task.id < b.task.id ? -1 : 1);
  for (const played of [one, again]) {
    assertEquals([played.reward, played.terminated, played.turns], [2.75, true, 4]);
    assertEquals(played.info, { exitStatus: "submitted", scores: { Size: 4 } });
  }
  for (const played of others) assertEquals([played.task.id, played.error.boundary], ["two", "policy"]);
});

Deno.test("paddock rollout --env workspace names missing options", async () => {
  await using folder = await TempFolder.of({
    ...numberTask(),
    "model.yaml": "id: m\nname: M\ndescription: d\ntask_entrypoint: ModelSubmissionTasks\n",
    "agent.yaml": "system_template: s\ntask_tmplate: t\n",
  });
  const task = ["--task", folder.path];
  const cases: [string[], string][] = [
    [[], "give --task DIR"],
    [["--task", "no/such"], "Cannot read task at 'no/such'"],
    [[...task, ...task], "task ids must be unique: two tasks have the id 'number'"],
    [
      ["--task", join(folder.path, "model.yaml")],
      "Cannot play task 'm' as a task of the kind ModelSubmissionTasks",
    ],
    [
      [...task, "--agent", join(folder.path, "agent.yaml")],
      "agent.yaml', line 2: 'task_tmplate' is an unknown key",
    ],
    [[...task, "--tasks", join(folder.path, "answer.txt")], "remove --tasks"],
    [[...task, "--tool", "search.ts"], "leave --mcp and --tool out"],
    [[...task, "--agent", folder.path], "as it must be a file to read: "],
    [
      [...task, "--grader", "gsm8k"],
      "Cannot play env 'workspace' with --grader as its task and agent files set it",
    ],
    [[...task, "--domain", "retail"], "with --domain as it is for env 'tau-bench'"],
    [[...task, "--reward-at", "often"], "Allowed choices are end, improvement, validate"],
    [[...task, "--wrong-format-reward", "much"], "It must be a number"],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await rollout(...args);
    assertEquals([code, stdout, stderr.trim().split("\n").length], [2, "", 1], stderr);
    assertStringIncludes(stderr, message);
  }
});

Deno.test("paddock rollout names the env of an option, and the available envs", async () => {
  const cases: [string[], string][] = [
    [["--env", "workspce", "--task", "t"], "Cannot find env 'workspce': available are python, "],
    [
      ["--task", "t"],
      "Cannot play env 'python' with --task as it is for env 'workspace': add --env workspace",
    ],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await runPaddock(["rollout", ...args]);
    assertEquals([code, stdout, stderr.trim().split("\n").length], [2, "", 1], stderr);
    assertStringIncludes(stderr, message);
  }
});

Deno.test("paddock rollout --env workspace limits the time of commands, counts episodes above the baseline, and writes them for a trainer with everything that the agent saw", async () => {
  const { tokenizer, config } = tinyTokenizerFiles({ name: "tiny-qwen" });
  const agent = "system_template: s\ntask_template: t\nnext_step_template: '{observation}'\n" +
    "history_processor: Last1Observations\n";
  const commands = ["sleep 60; echo done", "echo one", "echo two", "echo 3 > answer.txt", SUBMIT];
  await using folder = await TempFolder.of({
    ...numberTask(),
    "agent.yaml": agent,
    "tokenizer.json": JSON.stringify(tokenizer),
    "tokenizer_config.json": JSON.stringify(config),
    "agent.jsonl": JSON.stringify(commands.map(saying)),
  });
  const path = (name: string) => join(folder.path, name);
  const { code, stdout, stderr } = await rollout(
    "--task",
    folder.path,
    "--agent",
    path("agent.yaml"),
    "--policy",
    `scripted:${path("agent.jsonl")}`,
    "--timeout-ms",
    "500",
    "--show",
    "--tokenizer",
    folder.path,
    "--train-out",
    path("train.jsonl"),
  );
  assertEquals(code, 0, stderr);
  assertStringIncludes(stdout, "[The command was stopped as it was not done after 0.5 seconds.]");
  assertStringIncludes(stdout, "\nbetter        1\nnot better    0\nunscored      0\n");
  const result = parseInteraction(JSON.parse(await Deno.readTextFile(path("train.jsonl"))));
  assertEquals([result.reward, result.status], [2, "completed"]);
  const messages = result.messages.map(messageText);
  assertEquals([messages[5]?.trim(), messages[7]?.trim()], ["one", "two"]);
});
