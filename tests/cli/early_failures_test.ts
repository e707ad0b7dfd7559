import { assertEquals } from "@std/assert";
import { StartupFailureWarning } from "../../src/cli/early_failures.ts";
import { PolicyError, type PolicyFault } from "../../src/errors.ts";
import { emptyTrajectory, type Trajectory, withFailure } from "../../src/rollout/trajectory.ts";

const PLAYED = emptyTrajectory({ id: "a", query: "q" });

function failed(fault: PolicyFault): Trajectory {
  return withFailure(PLAYED, new PolicyError("no\nserver", { fault }));
}

function warnings(episodes: readonly Trajectory[]): (string | undefined)[] {
  const early = new StartupFailureWarning();
  return episodes.map((episode) => early.add(episode)).filter((warning) => warning !== undefined);
}

Deno.test("StartupFailureWarning.add() warns once when a run begins with nothing but failures", () => {
  const down = Array.from({ length: 20 }, (_, at) => failed(at % 2 === 0 ? "unreachable" : "refused"));
  assertEquals(warnings(down), [
    "warning: the first 8 episodes all failed: no\\nserver. Ctrl-C ends the run.\n",
  ]);
});

Deno.test("StartupFailureWarning.add() is silent once an episode was played, or failed in another way", () => {
  const down = Array.from({ length: 20 }, () => failed("refused"));
  assertEquals(warnings([PLAYED, ...down]), []);
  assertEquals(warnings([...down.slice(0, 7), failed("timeout"), ...down]), []);
});
