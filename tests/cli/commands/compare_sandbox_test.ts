import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { readRunRecord } from "../../../src/rollout/run_record.ts";
import { completion, FakeServer } from "../../policy/fake_server.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

const TASKS = [1, 2, 3].map((id) => `{"id":"t${id}","query":"${id}?","answer":"1"}\n`).join("");

/** Plays the tasks against a server that always gives the same reply, and returns the file of the episodes. */
async function play(folder: TempFolder, name: string, reply: string, ...options: string[]): Promise<string> {
  await using server = new FakeServer(({ body }) =>
    completion({ content: body.messages.at(-1).content === "1?" ? "It is 1" : reply })
  );
  const out = `${folder.path}/${name}`;
  const fixed = ["--env", "chat", "--tasks", `${folder.path}/tasks.jsonl`, "--out", out, "--model", "m"];
  const { code, stderr } = await runPaddock([
    "rollout",
    ...fixed,
    "--policy",
    `openai:${server.url}`,
    ...options,
  ]);
  assertEquals(code, 0, stderr);
  return out;
}

Deno.test("paddock compare names the settings, figures and tasks in which two runs differ", async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": TASKS });
  const first = await play(folder, "a.jsonl", "It is 2");
  const second = await play(folder, "b.jsonl", "It is 1", "--temperature", "0.5");
  const { code, stdout } = await runPaddock(["compare", first, second]);
  assertEquals(code, 0);
  assertMatch(stdout, /^setting +first +second\ntemperature +none +0\.5\n/);
  assertMatch(stdout, /\nreward +0\.3333 +1\n/);
  assertStringIncludes(
    stdout,
    "3 tasks are scored in both: 2 better, 0 worse, 1 the same; mean change +0.6667 (",
  );
  assertStringIncludes(stdout, "episodes solved in one file only: 0 and 2, p = 0.5\n");
  assertMatch(stdout, /\ntask +first +second +change\nt\d +0 +1 +\+1\nt\d +0 +1 +\+1\n$/);
  const json = JSON.parse((await runPaddock(["compare", first, second, "--json", "--limit", "1"])).stdout);
  assertEquals([json.settings, json.better, json.tasks.length], [
    [{ name: "temperature", first: "none", second: "0.5" }],
    2,
    1,
  ]);
  const same = await runPaddock(["compare", first, first]);
  assertStringIncludes(same.stdout, "Both runs have the same settings and data.\n");
});

Deno.test("paddock compare reads files without a record, and refuses a file that it cannot read", async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": TASKS });
  const first = await play(folder, "a.jsonl", "It is 2");
  const old = `${folder.path}/old.jsonl`;
  await Deno.copyFile(first, old);
  const { stdout } = await runPaddock(["compare", first, old]);
  assertStringIncludes(stdout, "The settings of a file without FILE.run.json are not known.\n");
  assertEquals((await runPaddock(["compare", first, `${folder.path}/none`])).code, 2);
});

Deno.test("paddock grade --out keeps the record of a run with its own graders, and paddock view prints it", async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": TASKS });
  const played = await play(folder, "a.jsonl", "It is 2", "--temperature", "0.5", "--grader", "number_match");
  const graded = `${folder.path}/graded.jsonl`;
  const { code, stderr } = await runPaddock(["grade", played, "--grader", "exact_match", "--out", graded]);
  assertEquals(code, 0, stderr);
  const record = await readRunRecord(graded);
  assertEquals(record?.runs.map(({ settings }) => [settings.temperature, settings.grader]), [
    [0.5, ["number_match"]],
    [0.5, ["exact_match"]],
  ]);
  assertEquals(record?.runs[1]?.data, record?.runs[0]?.data);
  const { stdout } = await runPaddock(["view", graded]);
  assertMatch(stdout, /\n── run ──\n {2}command: paddock grade .* --grader exact_match .*\n/);
  assertStringIncludes(stdout, "\n  temperature: 0.5\n");
  assertStringIncludes(stdout, "\n  grader: exact_match\n");
  const compared = await runPaddock(["compare", played, graded]);
  assertMatch(compared.stdout, /^setting +first +second\ngrader +number_match +exact_match\n/);
});
