import { assertEquals } from "@std/assert";
import { assertScores, readGradedTasks } from "./graded_tasks.ts";

Deno.test("hiddenTests() scores classes, iterators and other objects like CPython, one task of each family", async () => {
  const tasks = await readGradedTasks("tasks.jsonl");
  const families = Map.groupBy(tasks, ({ id }) => id.split("/")[0]);
  assertEquals([tasks.length >= 300, families.size], [true, 41]);
  await assertScores([...families.values()].flatMap((family) => family.slice(0, 1)));
});

Deno.test("hiddenTests() gives programs that cheat 0, and the honest ones of the same tests 1", async () => {
  await assertScores(await readGradedTasks("games.jsonl"));
});

Deno.test("hiddenTests() refuses tests that cannot be judged, and names the line", async () => {
  await assertScores(await readGradedTasks("refused.jsonl"));
});
