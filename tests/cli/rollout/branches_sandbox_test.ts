import { assertEquals, assertStringIncludes } from "@std/assert";
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
