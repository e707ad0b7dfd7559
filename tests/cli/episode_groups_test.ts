import { assertEquals } from "@std/assert";
import { EpisodeGroups } from "../../src/cli/episode_groups.ts";
import { emptyTrajectory, type Trajectory } from "../../src/rollout/trajectory.ts";

function episode(id: string, sample: number): Trajectory {
  return emptyTrajectory({ id, query: "q" }, { sample });
}

function names(episodes: readonly Trajectory[]): string[] {
  return episodes.map(({ task, sample }) => `${task.id}${sample}`);
}

Deno.test("EpisodeGroups.add() gives a group when it is whole, in the order of its samples", () => {
  const groups = new EpisodeGroups((id) => id === "b" ? 1 : 2);
  const added = [["a", 2], ["b", 3], ["c", 1], ["a", 1]] as const;
  assertEquals(added.map(([id, sample]) => names(groups.add(episode(id, sample)))), [[], ["b3"], [], [
    "a1",
    "a2",
  ]]);
  assertEquals([names(groups.takeRest()), groups.takeRest()], [["c1"], []]);
});

Deno.test("EpisodeGroups.add() keeps two tasks of one name going", () => {
  const groups = new EpisodeGroups(() => 2);
  assertEquals([1, 1, 2, 2].map((sample) => groups.add(episode("a", sample)).length), [0, 2, 0, 2]);
});
