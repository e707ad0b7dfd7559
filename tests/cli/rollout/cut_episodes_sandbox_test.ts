import { assertEquals, assertStringIncludes } from "@std/assert";
import { type InteractionResult, parseInteraction } from "../../../src/rollout/interaction_result.ts";
import { parseTrajectory } from "../../../src/rollout/trajectory_schema.ts";
import { FakeServer } from "../../policy/fake_server.ts";
import { completion } from "../../policy/fake_server.ts";
import { FakeVllm } from "../../policy/fake_vllm.ts";
import { TempFolder } from "../../temp_folder.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../tiny_tokenizer.ts";
import { runPaddock } from "../run_paddock.ts";

const TASKS = '{"id":"a","query":"2+2?","answer":"4"}\n';

async function rowsOf<T>(folder: TempFolder, name: string, parse: (value: unknown) => T): Promise<T[]> {
  const text = await Deno.readTextFile(`${folder.path}/${name}`);
  return text.split("\n").filter((line) => line !== "").map((line) => parse(JSON.parse(line)));
}

Deno.test("paddock rollout writes cut replies as truncated rows without an added end, and --resume leaves them", async () => {
  const tokenizer = await tinyTokenizer();
  const { tokenizer: model, config } = tinyTokenizerFiles();
  await using folder = await TempFolder.of({
    "tokenizer.json": JSON.stringify(model),
    "tokenizer_config.json": JSON.stringify(config),
    "tasks.jsonl": TASKS,
  });
  await using server = new FakeVllm({
    tokenizer,
    wire: "vllm",
    sample: () => "The answer is 4, as 2 and 2<|im_end|>",
  });
  const run = async (...options: string[]) =>
    await runPaddock([
      "rollout",
      ...["--env", "chat", "--tasks", `${folder.path}/tasks.jsonl`, "--tokenizer", folder.path],
      ...["--policy", `openai:${server.url}`, "--model", "m", "--max-tokens", "12"],
      ...["--out", `${folder.path}/x.jsonl`, "--train-out", `${folder.path}/t.jsonl`, ...options],
    ]);
  const first = await run();
  assertEquals(first.code, 0, first.stderr);
  assertStringIncludes(first.stdout, "cut off: length\n");
  assertStringIncludes(first.stdout, "\ncut off       1 (1 by the length of the last reply)\n");
  const [row] = await rowsOf(folder, "t.jsonl", parseInteraction);
  const sampled = server.served.at(-1)?.ids ?? [];
  assertEquals([row?.status, row?.cut, row?.tokens.slice(-row.response_length)], [
    "truncated",
    "length",
    sampled,
  ]);
  assertEquals(row?.loss_mask, sampled.map(() => 1));
  const [episode] = await rowsOf(folder, "x.jsonl", parseTrajectory);
  assertEquals([episode?.terminated, episode?.truncated, episode?.cut], [false, true, "length"]);
  const before = server.seen.length;
  const resumed = await run("--resume");
  assertEquals(
    [resumed.code, (await rowsOf(folder, "t.jsonl", parseInteraction)).length],
    [0, 1],
    resumed.stderr,
  );
  const isProbe = (body: { max_tokens?: number }) => body.max_tokens !== 12;
  assertEquals(server.seen.slice(before).every(({ body }) => isProbe(body)), true, "no episode is played");
  assertStringIncludes(resumed.stdout, "\ncut off       1 ");
  const scored = async (...options: string[]) => {
    await run("--force", ...options);
    const [row] = await rowsOf<InteractionResult>(folder, "t.jsonl", parseInteraction);
    return row?.reward;
  };
  const graded = await scored();
  assertEquals([typeof graded, await scored("--cut-score", "none")], ["number", null]);
  await Deno.writeTextFile(`${folder.path}/paddock.jsonc`, '{ "rollout": { "cutScore": "none" } }');
  assertEquals(await scored("--config", `${folder.path}/paddock.jsonc`), null);
});

Deno.test("paddock rollout --resume leaves an episode that the context of the model has ended", async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": TASKS });
  const overflow = { error: { message: "This model's maximum context length is 2048 tokens.", code: 400 } };
  await using server = new FakeServer(() => Response.json(overflow, { status: 400 }));
  const run = async (...options: string[]) =>
    await runPaddock([
      "rollout",
      ...["--env", "chat", "--tasks", `${folder.path}/tasks.jsonl`, "--policy", `openai:${server.url}`],
      ...["--model", "m", "--grader", "gsm8k", "--out", `${folder.path}/x.jsonl`, ...options],
      ...["--max-tokens", "0"],
    ]);
  const first = await run();
  assertEquals([first.code, server.seen.length], [0, 1], first.stderr);
  assertStringIncludes(first.stdout, "unscored      1 (first: Cannot get reply as ");
  const resumed = await run("--resume");
  assertEquals([resumed.code, server.seen.length], [0, 1], resumed.stderr);
  assertStringIncludes(resumed.stdout, "cut off       1 (1 by the context of the model)\nerrors        0\n");
});

Deno.test("paddock rollout runs no unclosed block of a cut reply", async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": TASKS });
  await using server = new FakeServer(() =>
    completion({ content: "```python\nprint(4)" }, { finish_reason: "length" })
  );
  const args = [
    "--tasks",
    `${folder.path}/tasks.jsonl`,
    "--policy",
    `openai:${server.url}`,
    "--model",
    "m",
    "--json",
  ];
  const { code, stdout } = await runPaddock(["rollout", ...args]);
  const { toolResults, cut } = parseTrajectory(JSON.parse(stdout));
  assertEquals([code, toolResults, cut, server.seen.length], [0, [], "length", 1]);
});
