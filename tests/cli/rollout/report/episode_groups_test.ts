import { assertEquals } from "@std/assert";
import { EpisodeGroups, StartupFailureWarning } from "../../../../src/cli/rollout/report/episode_groups.ts";
import { PolicyError, type PolicyFault } from "../../../../src/errors.ts";
import { emptyTrajectory, type Trajectory, withFailure } from "../../../../src/rollout/trajectory.ts";

function episode(id: string, sample: number): Trajectory {
  return emptyTrajectory({ id, query: "q" }, { sample });
}

function names(episodes: readonly Trajectory[]): string[] {
  return episodes.map(({ task, sample }) => `${task.id}${sample}`);
}

Deno.test("EpisodeGroups.add() returns a group when it is complete, in the order of its samples", () => {
  const groups = new EpisodeGroups((id) => id === "b" ? 1 : 2);
  const added = [["a", 2], ["b", 3], ["c", 1], ["a", 1]] as const;
  assertEquals(added.map(([id, sample]) => names(groups.add(episode(id, sample)))), [[], ["b3"], [], [
    "a1",
    "a2",
  ]]);
  assertEquals([names(groups.takeRest()), groups.takeRest()], [["c1"], []]);
});

Deno.test("EpisodeGroups.add() keeps two tasks with the same id apart", () => {
  const groups = new EpisodeGroups(() => 2);
  assertEquals([1, 1, 2, 2].map((sample) => groups.add(episode("a", sample)).length), [0, 2, 0, 2]);
});

const PLAYED = emptyTrajectory({ id: "a", query: "q" });

function failed(fault: PolicyFault): Trajectory {
  return withFailure(PLAYED, new PolicyError("no\nserver", { fault }));
}

function warnings(episodes: readonly Trajectory[]): (string | undefined)[] {
  const early = new StartupFailureWarning();
  return episodes.map((episode) => early.add(episode)).filter((warning) => warning !== undefined);
}

Deno.test("StartupFailureWarning.add() warns once when the first episodes all fail", () => {
  const down = Array.from({ length: 20 }, (_, at) => failed(at % 2 === 0 ? "unreachable" : "refused"));
  assertEquals(warnings(down), [
    "warning: the first 8 episodes all failed: no\\nserver. Ctrl-C ends the run.\n",
  ]);
});

Deno.test("StartupFailureWarning.add() does not warn after a success, or another kind of failure", () => {
  const down = Array.from({ length: 20 }, () => failed("refused"));
  assertEquals(warnings([PLAYED, ...down]), []);
  assertEquals(warnings([...down.slice(0, 7), failed("timeout"), ...down]), []);
});

Deno.test("StartupFailureWarning.add() warns when no first prompt fits the context of the model", () => {
  const full: Trajectory = {
    ...PLAYED,
    truncated: true,
    cut: "context",
    unscored: "the prompt\nis too long",
  };
  assertEquals(warnings(Array.from({ length: 20 }, () => full)), [
    "warning: the first 8 episodes all ended without a reply: the prompt\\nis too long. Ctrl-C ends the run.\n",
  ]);
  assertEquals(warnings(Array.from({ length: 20 }, () => ({ ...full, turns: 1 }))), []);
});
