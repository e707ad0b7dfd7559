import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { completion, FakeServer } from "../policy/fake_server.ts";
import { FakeVllm } from "../policy/fake_vllm.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../tiny_tokenizer.ts";
import { TempFolder } from "../temp_folder.ts";
import { runPaddock } from "../cli/run_paddock.ts";
import { block } from "./pages.ts";

/** Replies of a weak model: two right ones, of which one has a program, and what weak models write else. */
const REPLIES: Readonly<Record<string, readonly string[]>> = {
  bakery: [
    "48 - 5 = 43, so 43 are left.",
    "```python\nprint(6 * 8 - 5)\n```",
    "I do not know.",
    "```python\nprint(6 * 8",
  ],
  train: ["It is 12 * 64 = 758.", "768", "The seats are 1, 2, 3", ""],
  rope: ["36", "<think>90 / 2.5", "90 / 2.5 = 36 pieces", "35"],
};

/** A server whose model answers each question with its replies in turn, and with the number that Python printed. */
function weakServer(): FakeServer {
  const turns = new Map<string, number>();
  return new FakeServer(({ path, body }) => {
    if (!path.endsWith("/chat/completions")) return Response.json({ data: [{ id: "MODEL" }] });
    const prompt = JSON.stringify(body.messages);
    const printed = /successfully:\\n(\d+)/.exec(prompt)?.[1];
    if (printed !== undefined) return completion({ content: `The answer is ${printed}.` });
    if (prompt.includes("failed:")) return completion({ content: "I give up." });
    const id = Object.keys(REPLIES).find((id) => prompt.includes(WORDS[id] ?? "?")) ?? "";
    const turn = turns.get(id) ?? 0;
    turns.set(id, turn + 1);
    return completion({ content: REPLIES[id]?.[turn % 4] ?? "" });
  });
}

/** A word of each question. */
const WORDS: Readonly<Record<string, string>> = { bakery: "tray", train: "coaches", rope: "rope" };

/** Returns the arguments of the command of a block, with paths in a folder, and the server and model of the test. */
function argumentsOf(text: string, folder: string, url: string): string[] {
  const [program, ...args] = text.replaceAll("\\\n", " ").trim().split(/\s+/);
  assertEquals(program, "paddock");
  return args.map((word) =>
    word === "MODEL_FOLDER"
      ? folder
      : word === "openai:http://127.0.0.1:8000"
      ? `openai:${url}`
      : /\.(?:jsonl|py)$/.test(word)
      ? `${folder}/${word}`
      : word
  );
}

Deno.test("docs/researchers.md: own columns, a grader in Python and a model server lead to a training file", async (t) => {
  const { tokenizer: model, config } = tinyTokenizerFiles();
  await using folder = await TempFolder.of({
    "problems.jsonl": block("The data", "jsonl"),
    "grade.py": block("The grader", "python"),
    "tokenizer.json": JSON.stringify(model),
    "tokenizer_config.json": JSON.stringify(config),
  });
  const tokenizer = await tinyTokenizer();
  await t.step("the episodes are graded, whatever the model wrote", async () => {
    await using server = weakServer();
    const args = argumentsOf(block("The episodes", "sh", "paddock rollout"), folder.path, server.url);
    const run = await runPaddock(args);
    assertEquals(run.code, 0, run.stderr);
    assertMatch(run.stdout, /right +\d/);
    const text = await Deno.readTextFile(`${folder.path}/runs/first.jsonl`);
    const rows = text.trim().split("\n").map((line) => JSON.parse(line));
    const rewards = Object.entries(Object.groupBy(rows, ({ task }) => task.id)).map(([id, all = []]) => [
      id,
      all.map(({ reward }) => reward).toSorted(),
    ]);
    assertEquals(Object.fromEntries(rewards), {
      bakery: [0, 0, 1, 1],
      train: [0, 0, 0, 1],
      rope: [0, 0, 1, 1],
    });
    const [view = "", web = ""] = block("The episodes", "sh", "paddock view").trim().split("\n");
    const shown = await runPaddock(argumentsOf(view, folder.path, server.url));
    assertEquals(shown.code, 0, shown.stderr);
    assertStringIncludes(shown.stdout, "bakery");
    assert(web.endsWith("--web"));
    const again = await runPaddock(
      argumentsOf(block("The episodes", "sh", "paddock grade"), folder.path, server.url),
    );
    assertEquals(again.code, 0, again.stderr);
  });
  await t.step("the training file has a row for each episode", async () => {
    await using server = new FakeVllm({ tokenizer, sample: () => "36<|im_end|>" });
    const run = await runPaddock(argumentsOf(block("The training file", "sh"), folder.path, server.url));
    assertEquals(run.code, 0, run.stderr);
    const text = await Deno.readTextFile(`${folder.path}/runs/train.jsonl`);
    const rows = text.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(rows.length, 12);
    assert(rows.every(({ tokens, loss_mask }) => tokens.length > loss_mask.length && loss_mask.includes(1)));
  });
  await t.step("columns that Paddock does not know end the run at once, and are named", async () => {
    const run = await runPaddock([
      ...["rollout", "--tasks", `${folder.path}/problems.jsonl`, "--policy", "openai:http://127.0.0.1:9"],
      ...["--model", "m", "--query-field", "question"],
    ]);
    assertEquals([run.code, run.stdout], [2, ""]);
    assertStringIncludes(run.stderr, "problem");
  });
});
