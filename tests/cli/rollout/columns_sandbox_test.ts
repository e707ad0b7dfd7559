import { assertEquals, assertStringIncludes } from "@std/assert";
import { toJsonLines, withFiles } from "../../datasets/temp_files.ts";
import { runPaddock, spawnPaddock } from "../run_paddock.ts";

const PLAY = ["rollout", "--env", "chat", "--json"];

async function play(tasks: string, ...args: string[]) {
  const { code, stdout, stderr } = await runPaddock([...PLAY, "--tasks", tasks, ...args]);
  const rows = stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return { code, stderr, rows };
}

Deno.test("paddock rollout maps the columns of a file to the query, answer, id, system message and fields", async () => {
  const row = { uid: "u1", ask: { text: "6*7?" }, gold: { value: 42 }, sys: "Be brief.", level: 1, other: 2 };
  const files = {
    "own.jsonl": toJsonLines({ ...row, replies: ["It is 42"] }),
    "trl.csv": "Prompt;Answer;Source\n6*7?;42;web\n",
    "replies.jsonl": toJsonLines({ id: "trl:2", replies: ["It is 42"] }),
  };
  await withFiles(files, async (folder) => {
    const fields = ["--query-field", "ask.text", "--answer-field", "gold.value", "--id-field", "uid"];
    const more = ["--system-field", "sys", "--keep-fields", "level"];
    const own = await play(`${folder}/own.jsonl`, ...fields, ...more);
    const [{ task, messages, reward }] = own.rows;
    assertStringIncludes(own.stderr, "Columns: query from 'ask.text', answer from 'gold.value'\n");
    assertEquals([own.code, reward, task.id, task.answer, task.fields], [0, 1, "u1", "42", { level: 1 }]);
    assertEquals(messages.slice(0, 2).map(({ role, content }: Record<string, unknown>) => [role, content]), [
      ["system", "Be brief."],
      ["user", "6*7?"],
    ]);
    const trl = await play(`${folder}/trl.csv`, "--policy", `scripted:${folder}/replies.jsonl`);
    assertStringIncludes(trl.stderr, "Columns: query from 'prompt', answer from 'answer'\n");
    assertEquals([trl.code, trl.rows[0].reward, trl.rows[0].task.fields], [0, 1, { Source: "web" }]);
  });
});

Deno.test("paddock rollout ends with 2 before it plays if the first rows lack known columns", async () => {
  const wrong = toJsonLines(...Array.from({ length: 300 }, () => ({ text: "q", label: 1 })));
  const files = {
    "wrong.jsonl": wrong,
    "math.jsonl": toJsonLines({ problem: "q", solution: "It is 4." }),
    "kept.jsonl": "kept\n",
  };
  await withFiles(files, async (folder) => {
    const says =
      "wrong.jsonl:1 as it needs a column with the query: found [text, label]; give --query-field NAME\n";
    const { code, rows, stderr } = await play(
      `${folder}/wrong.jsonl`,
      "--out",
      `${folder}/kept.jsonl`,
      "--force",
    );
    assertEquals([code, rows, stderr], [2, [], `error: Cannot read task at ${folder}/${says}`]);
    assertEquals(await Deno.readTextFile(`${folder}/kept.jsonl`), "kept\n");
    const piped = await spawnPaddock([...PLAY, "--tasks", "-"], wrong);
    assertEquals([piped.code, piped.stdout], [2, ""]);
    assertStringIncludes(piped.stderr, "give --query-field NAME");
    const math = await play(`${folder}/math.jsonl`);
    assertEquals([math.code, math.rows], [2, []]);
    assertStringIncludes(math.stderr, "give --answer-field NAME, the column with the answer");
  });
});

Deno.test("paddock rollout ends with 2 if its grader needs answers and another column may have them", async () => {
  const files = {
    "gold.csv": "question,gold\n6*7?,42\n",
    "bare.csv": "question\n6*7?\n",
    "policy.jsonl": toJsonLines({ id: "gold:2", replies: ["42"] }, { id: "bare:2", replies: ["42"] }),
  };
  await withFiles(files, async (folder) => {
    const policy = ["--policy", `scripted:${folder}/policy.jsonl`];
    const says = (grader: string) =>
      `error: Cannot score tasks of '${folder}/gold.csv' as grader '${grader}' needs their answers: ` +
      "found [gold] beside the query; give --answer-field NAME, or --grader none\n";
    const gold = `${folder}/gold.csv`;
    const byDefault = await play(gold, ...policy);
    assertEquals([byDefault.code, byDefault.rows, byDefault.stderr], [2, [], says("number_match")]);
    const math = await play(gold, ...policy, "--grader", "ifeval=0.1", "--grader", "math");
    assertEquals([math.code, math.stderr], [2, says("math")]);
    const none = await play(gold, ...policy, "--grader", "none");
    assertEquals([none.code, none.rows[0].reward], [0, null]);
    const bare = await play(`${folder}/bare.csv`, ...policy);
    assertEquals([bare.code, bare.rows[0].reward], [0, null]);
    assertStringIncludes(bare.stderr, "no answer; without answers, grader 'number_match' gives no scores\n");
  });
});

Deno.test("paddock rollout refuses columns for envs without a task file, and two system messages", async () => {
  const other = await runPaddock(["rollout", "--env", "workspace", "--task", "x", "--id-field", "a"]);
  assertEquals([other.code, other.stderr], [
    2,
    "error: Cannot play env 'workspace' with --id-field as it is for envs python, tools, chat: remove --id-field\n",
  ]);
  const twice = await runPaddock([...PLAY, "--tasks", "x", "--system", "a", "--system-field", "b"]);
  assertEquals(twice.code, 2);
});
