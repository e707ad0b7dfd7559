import { assertEquals } from "@std/assert";
import { TempFolder } from "../temp_folder.ts";
import { runPaddock } from "../cli/run_paddock.ts";
import { block } from "./pages.ts";

/** Returns the arguments of the commands of a block, with paths in a folder. */
function commands(text: string, folder: string): string[][] {
  const lines = text.trim().replaceAll("\\\n", " ").split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [program, ...args] = line.split(/\s+/);
    assertEquals(program, "paddock");
    return args.map((word) => /\.(?:jsonl|py|ts)(?:=.*)?$/.test(word) ? `${folder}/${word}` : word);
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
