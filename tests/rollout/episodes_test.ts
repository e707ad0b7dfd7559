import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { episodesOf } from "../../src/rollout/episodes.ts";

const TASKS = ["a", "b"].map((id) => ({ id, query: "q" }));

Deno.test("episodesOf() yields each task's episodes adjacent, without skipped ones", async () => {
  const skip = ({ id }: { id: string }, sample: number) => id === "b" && sample === 2;
  const episodes = await Array.fromAsync(episodesOf(TASKS, { samples: 3, skip }));
  assertEquals(episodes.map(({ task, sample }) => `${task.id}${sample}`), ["a1", "a2", "a3", "b1", "b3"]);
  assertEquals(episodes.some((episode) => "seed" in episode), false);
});

Deno.test("episodesOf() derives each episode's seed from the seed, the task and the sample only", async () => {
  const seeds = async (tasks: typeof TASKS, seed: number) =>
    (await Array.fromAsync(episodesOf(tasks, { samples: 2, seed }))).map(({ seed }) => seed);
  const all = await seeds(TASKS, 1);
  assertEquals(new Set(all).size, 4);
  assertEquals(await seeds(TASKS.slice(1), 1), all.slice(2));
  assertNotEquals(await seeds(TASKS, 2), all);
  assertEquals(all.every((seed = -1) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31), true);
});

Deno.test("episodesOf() rejects an invalid number of samples", async () => {
  for (const samples of [0, -1, 1.5, NaN]) {
    await assertRejects(() => episodesOf(TASKS, { samples }).next(), RangeError, "'samples'");
  }
});
