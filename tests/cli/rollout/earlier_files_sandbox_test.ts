import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { parseInteraction } from "../../../src/rollout/interaction_result.ts";
import { FakeServer } from "../../policy/fake_server.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../tiny_tokenizer.ts";
import { runPaddock } from "../run_paddock.ts";

/** Files that Paddock 0.1.0 wrote before lines had the key `format`. */
const EARLIER = fileURLToPath(new URL("../../goldens/legacy/", import.meta.url));

/** A folder with a copy of an earlier file; removed on dispose. */
async function folderWith(name: string): Promise<AsyncDisposable & { path: string; file: string }> {
  const path = await Deno.makeTempDir();
  await Deno.copyFile(`${EARLIER}${name}`, `${path}/${name}`);
  return {
    path,
    file: `${path}/${name}`,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

async function linesOf(path: string): Promise<string[]> {
  return (await Deno.readTextFile(path)).trimEnd().split("\n");
}

Deno.test("paddock view shows trajectories that were written before they had a format", async () => {
  const { code, stdout } = await runPaddock(["view", `${EARLIER}trajectories.jsonl`]);
  assertEquals(code, 0);
  const endings = stdout.split("\n").filter((line) => / after |failed at/.test(line));
  assertEquals(endings.map((line) => line.replace(/, \d+ ms$/, "")), [
    ...Array(2).fill(
      "ended after 2 turns, reward 1 (gsm8k 1, reward_answer 1, reward_think 0, reward_right 1, success 1), tools 1 ok",
    ),
    ...Array(2).fill(
      "ended after 2 turns, reward 0.1 (gsm8k 0.1, reward_answer 1, reward_think 0, reward_right 0.1, success 0), tools 1 error",
    ),
    ...Array(2).fill(
      "cut off after 3 turns, reward 0 (gsm8k 0, reward_answer 0, reward_think 0, reward_right 0, success 0), tools 3 ok",
    ),
    ...Array(2).fill(
      "failed at policy: Cannot play task 'silent' with policy 'scripted' as it needs 'replies' or a 'reference': " +
        "it has neither, not scored",
    ),
  ]);
  const calls = await runPaddock(["view", `${EARLIER}tool_calls.jsonl`, "--id", "misspelt"]);
  assertStringIncludes(calls.stdout, "tools 1 unknown_tool + 1 bad_arguments");
  const stopped = await runPaddock(["view", `${EARLIER}training_out.jsonl`]);
  assertEquals(stopped.code, 0);
  assertStringIncludes(stopped.stdout, "answered 400 Bad Request: no such model");
});

Deno.test("paddock grade scores trajectories that were written before they had a format", async () => {
  await using folder = await folderWith("trajectories.jsonl");
  const out = `${folder.path}/graded.jsonl`;
  const { code } = await runPaddock(["grade", folder.file, "--grader", "number_match", "--out", out]);
  assertEquals(code, 1, "two episodes have failed");
  const graded = (await linesOf(out)).map((line) => JSON.parse(line));
  assertEquals(
    graded.map(({ task, sample, reward, format }) => [task.id, sample, reward, format]),
    [
      ["sum", 1, 1, 1],
      ["sum", 2, 1, 1],
      ["wrong", 1, 0, 1],
      ["wrong", 2, 0, 1],
      ["endless", 1, 0, 1],
      ["endless", 2, 0, 1],
      ["silent", 1, null, 1],
      ["silent", 2, null, 1],
    ],
  );
});

Deno.test("paddock rollout --resume keeps trajectories that were written before they had a format", async () => {
  await using folder = await folderWith("trajectories.jsonl");
  const before = await linesOf(folder.file);
  const flags = ["--env", "chat", "--grader", "gsm8k", "--samples", "2", "--seed", "7"];
  const run = await runPaddock(
    ["rollout", "--tasks", `${EARLIER}tasks.jsonl`, "--out", folder.file, "--resume", ...flags],
  );
  assertEquals(run.code, 1, "what failed fails again");
  const after = await linesOf(folder.file);
  assertEquals(after.slice(0, 6), before.slice(0, 6));
  const played = after.slice(6).map((line) => JSON.parse(line));
  assertEquals(
    played.map(({ task, sample, format }) => [task.id, sample, format]).toSorted(),
    [["silent", 1, 1], ["silent", 2, 1]],
  );
});

Deno.test("paddock rollout --resume continues training rows that were written before they had a format", async () => {
  await using folder = await folderWith("training.jsonl");
  const tokenizer = await tinyTokenizer();
  const files = tinyTokenizerFiles();
  await Deno.writeTextFile(`${folder.path}/tokenizer.json`, JSON.stringify(files.tokenizer));
  await Deno.writeTextFile(`${folder.path}/tokenizer_config.json`, JSON.stringify(files.config));
  const [completed = "", , partial = ""] = await linesOf(folder.file);
  await using server = new FakeServer(() => {
    const text = "It is 5";
    const output_ids = tokenizer.encode(`${text}<|im_end|>`);
    const output_token_logprobs = output_ids.map((id) => [-0.25, id, null]);
    const meta_info = { finish_reason: { type: "stop" }, output_token_logprobs };
    return Response.json({ text, output_ids, meta_info });
  });
  const run = await runPaddock([
    "rollout",
    "--tasks",
    `${EARLIER}train_tasks.jsonl`,
    "--policy",
    `sglang:${server.url}`,
    "--tokenizer",
    folder.path,
    "--train-out",
    folder.file,
    "--concurrency",
    "1",
    "--no-system",
    "--resume",
  ]);
  assertEquals(run.code, 0, run.stderr);
  assertEquals(
    server.seen.length,
    3,
    "the completed episode is not played again, the partial one is continued",
  );
  const lines = await linesOf(folder.file);
  assertEquals(lines[0], completed);
  const rows = lines.map((line) => parseInteraction(JSON.parse(line)));
  assertEquals(rows.map(({ task_id, status, reward }) => [task_id, status, reward]), [
    ["two", "completed", 1],
    ["refused", "completed", 0],
    ["three", "completed", 1],
    ["unplayed", "completed", 0],
  ]);
  const earlier = parseInteraction(JSON.parse(partial));
  const continued = rows[2];
  assertEquals(continued?.tokens.slice(0, earlier.tokens.length), earlier.tokens);
  assertEquals(lines.slice(1).map((line) => JSON.parse(line).format), [1, 1, 1]);
});

Deno.test("paddock view, grade and rollout --resume reject a format of a newer version", async () => {
  await using folder = await folderWith("trajectories.jsonl");
  const [first = ""] = await linesOf(folder.file);
  const newer = `${first.replace('"sample"', '"format":2,"sample"')}\n`;
  await Deno.writeTextFile(folder.file, newer);
  const rollout = ["rollout", "--tasks", `${EARLIER}tasks.jsonl`, "--env", "chat", "--resume"];
  for (
    const args of [
      ["view", folder.file],
      ["grade", folder.file, "--grader", "gsm8k"],
      [...rollout, "--grader", "gsm8k", "--out", folder.file],
    ]
  ) {
    const { code, stderr } = await runPaddock(args);
    assertEquals(code, 2);
    assertMatch(
      stderr,
      /:1(?: must be an episode)?: format: must be 1 or lower .* a newer one wrote format 2/,
    );
  }
  assertEquals(await Deno.readTextFile(folder.file), newer);
});
