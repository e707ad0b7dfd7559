import { assertEquals, assertStringIncludes } from "@std/assert";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

const TASK = {
  id: "paint",
  query: "How many tins?",
  answer: "6",
  replies: ["```python\narea = 35\n```", "```python\nprint(area)\n```", "The answer is 6"],
};

Deno.test("paddock rollout --branch plays continuations that share the interpreter of the first turns", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/tasks.jsonl`, `${JSON.stringify(TASK)}\n`);
    const args = ["rollout", "--tasks", `${folder}/tasks.jsonl`, "--out", `${folder}/tree.jsonl`];
    const { code, stdout, stderr } = await runPaddock([...args, "--branch", "3@2"]);
    assertEquals([code, stderr], [0, ""]);
    assertStringIncludes(stdout, "paint 3@2");
    const lines = (await Deno.readTextFile(`${folder}/tree.jsonl`)).trimEnd().split("\n");
    const rows = lines.map((line) => JSON.parse(line));
    const [root] = rows;
    assertEquals(rows.map(({ id }) => id), [root.id, `${root.id}.2`, `${root.id}.3`]);
    const parent = { id: root.id, turn: 2 };
    assertEquals(rows.map((row) => row.parent), [undefined, parent, parent]);
    for (const { messages, reward } of rows) assertEquals([messages, reward], [root.messages, 1]);
    assertStringIncludes(JSON.stringify(root.messages), "35"); // the second block has read the variable of the first
    const wrong = await runPaddock([...args, "--branch", "3"]);
    assertEquals(wrong.code, 2);
    assertStringIncludes(wrong.stderr, "COUNT@TURN");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const GRADER = `
grades = 0

def grade(completion, answer, code_calls):
    global grades
    grades += 1
    return {"score": float(answer in completion), "grades": grades, "calls": len(code_calls)}
`;

const TOOL = `
total = 0

def add(by: int) -> int:
    """Adds to the total."""
    global total
    total += by
    return total
`;

Deno.test("a grader in a Python file scores each continuation, with the calls of code of the shared turns", async () => {
  const replies = [
    "```python\nfrom paddock import tools\ntools.add(by=2)\n```",
    "```python\nprint('total', tools.add(by=4))\n```",
    "The answer is 6",
  ];
  await using folder = await TempFolder.of({
    "tasks.jsonl": JSON.stringify({ ...TASK, replies }),
    "grader.py": GRADER,
    "tool.py": TOOL,
  });
  const { path } = folder;
  const tools = ["--profile", "tools", "--tool", `${path}/tool.py`, "--tool-callers", "code"];
  const rollout = ["rollout", "--tasks", `${path}/tasks.jsonl`, ...tools, "--branch", "3@2", "--json"];
  const { code, stdout, stderr } = await runPaddock([...rollout, "--grader", `${path}/grader.py`]);
  assertEquals(code, 0, stderr);
  const rows = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(
    rows.map(({ reward, rewardParts: { grades, calls } }) => [reward, grades, calls]),
    Array(3).fill([1, 1, 2]),
    "each grade starts from the state of the loaded file",
  );
  for (const { messages } of rows) assertStringIncludes(JSON.stringify(messages), "total 6");
});
