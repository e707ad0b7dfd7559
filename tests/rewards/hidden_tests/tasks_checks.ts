import { z } from "zod";
import { assertScores, type GradedTask, readGradedTasks } from "./graded_tasks.ts";

const mbppSchema = z.object({
  task_id: z.number(),
  text: z.string(),
  code: z.string(),
  test_list: z.array(z.string()),
  challenge_test_list: z.array(z.string()).default([]),
  test_setup_code: z.string().default(""),
});

Deno.test("hiddenTests() scores all tasks with classes and iterators like CPython", async () => {
  await assertScores(await readGradedTasks("tasks.jsonl"));
});

Deno.test({
  name: "hiddenTests() gives the solutions of MBPP 1, and functions that return something else 0",
  ignore: Deno.env.get("PADDOCK_MBPP") === undefined,
  async fn() {
    const text = await Deno.readTextFile(Deno.env.get("PADDOCK_MBPP") ?? "");
    const problems = text.trim().split("\n").map((line) => mbppSchema.parse(JSON.parse(line)));
    await assertScores(problems.map(toTask), 60_000);
  },
});

function toTask(problem: z.infer<typeof mbppSchema>): GradedTask {
  const { task_id, text, code, test_list, challenge_test_list, test_setup_code } = problem;
  const names = code.matchAll(/^(?:def|class) +(\w+)/gm).map(([, name]) => name);
  return {
    id: `mbpp/${task_id}`,
    fields: { prompt: text, test_list: [...test_list, ...challenge_test_list], test_setup_code },
    correct: code.replaceAll("\r", ""),
    wrong: [...new Set(names)].map((name) => `def ${name}(*args):\n    return {"no": "answer"}\n`).join(""),
  };
}
