import { assertEquals, assertStringIncludes } from "@std/assert";
import { messageText } from "../../src/message.ts";
import { PYTHON } from "../examples/installed.ts";
import { completion, FakeServer } from "../policy/fake_server.ts";
import { TempFolder } from "../temp_folder.ts";
import { runPaddock } from "../cli/run_paddock.ts";
import { block } from "./pages.ts";

/** Returns the arguments of the commands of a block, with paths in a folder. */
function commands(text: string, folder: string): string[][] {
  const lines = text.trim().replaceAll("\\\n", " ").split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [program, ...args] = line.split(/\s+/);
    assertEquals(program, "paddock");
    return args.map((word) =>
      /\.(?:jsonl|py|ts)(?:=.*)?$/.test(word) ? word.replace(/^(scripted:)?/, `$1${folder}/`) : word
    );
  });
}

const TASKS = [
  { id: "sum", query: "What is 20 + 22?", answer: "42", replies: ["It is 42."] },
  { id: "price", query: "What are three at 400?", answer: "1200", replies: ["They are 1,300."] },
].map((row) => JSON.stringify(row)).join("\n");

Deno.test("docs/python_parts.md, A grader: the file grades with the commands of the page", async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": TASKS, "g.py": block("A grader", "python") });
  const all: unknown[] = [];
  for (const args of commands(block("A grader", "sh"), folder.path)) {
    const run = await runPaddock([...args, "--json"]);
    assertEquals(run.code, 0, run.stderr);
    const rows = run.stdout.trim().split("\n").map((line) => JSON.parse(line));
    all.push(Object.fromEntries(rows.map(({ task, reward }) => [task.id, Math.round(reward * 100) / 100])));
  }
  assertEquals(all, [{ sum: 1, price: 0.1 }, { sum: 1, price: 0.08 }, { sum: 1, price: 0.1 }]);
});

Deno.test("docs/python_parts.md, Tools: the functions are called with the command of the page", async () => {
  const replies = [
    '<tool>roll\n{"sides": 6, "count": 3}</tool>',
    "<tool>total\n{}</tool>",
    '<tool>roll\n{"sides": 7}</tool>',
    "42",
  ];
  const ids = ["sum", "price"];
  await using folder = await TempFolder.of({
    "tasks.jsonl": TASKS,
    "dice.py": block("Tools", "python"),
    "replies.jsonl": ids.map((id) => JSON.stringify({ id, replies })).join("\n"),
  });
  const [args = []] = commands(block("Tools", "sh"), folder.path);
  const run = await runPaddock([...args, "--json"]);
  assertEquals(run.code, 0, run.stderr);
  const rows = run.stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(rows.length, 2);
  for (const { messages } of rows) {
    const texts = messages.filter(({ role }: { role: string }) => role === "tool").map(messageText);
    const [thrown = "", total = "", refused = ""] = texts;
    const numbers: number[] = JSON.parse(/\[[\d,]+\]/.exec(thrown)?.[0] ?? "[]");
    assertEquals(numbers.length, 3, thrown);
    assertStringIncludes(total, String(numbers.reduce((sum, value) => sum + value, 0)));
    assertStringIncludes(refused, "sides");
  }
});

Deno.test("docs/python_parts.md, An environment: the file plays with the command of the page", async () => {
  const replies = ['<tool>is_below\n{"number": 50}</tool>', "41", "42"];
  await using folder = await TempFolder.of({
    "tasks.jsonl": JSON.stringify({ id: "a", query: "Find it.", answer: "42", replies }),
    "env.py": block("An environment", "python"),
  });
  const [args = []] = commands(block("An environment", "sh"), folder.path);
  const run = await runPaddock([...args, "--calls", "tag", "--json"]);
  assertEquals(run.code, 0, run.stderr);
  const { reward, rewardParts, messages } = JSON.parse(run.stdout);
  assertEquals([reward, rewardParts], [0.9, { env: 1, questions: 1 }]);
  assertEquals(messages.slice(0, 2).map(messageText), [
    "Find a number from 1 to 100. Reply with the number only, or ask the tool.",
    "Find it. It has 2 digits.",
  ]);
});

Deno.test({
  name: `docs/python_parts.md, In your own process: the program plays with its functions${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    await using model = new FakeServer(({ body: { messages } }) => {
      const price = /\d{3}/.exec(messages.at(-1).content)?.[0];
      return completion({ content: price ?? '<tool>price\n{"thing": "tea"}</tool>' });
    });
    const client = decodeURIComponent(new URL("../../packaging/python/", import.meta.url).pathname);
    const cli = decodeURIComponent(new URL("../../src/cli.ts", import.meta.url).pathname);
    const command = JSON.stringify([Deno.execPath(), "run", "-A", "--quiet", cli]);
    const program = `import paddock.server\n` +
      `paddock.server.command = lambda arguments: [*${command}, *arguments]\n` +
      block("In your own process", "python").replace("http://localhost:8000", model.url);
    const { code, stdout, stderr } = await new Deno.Command("python3", {
      args: ["-B", "-c", program],
      env: { PYTHONPATH: client },
    }).output();
    assertEquals([new TextDecoder().decode(stderr), code], ["", 0]);
    assertEquals(new TextDecoder().decode(stdout), "1\n");
  },
});
