import { assertThrows } from "@std/assert";
import { requireSameRun } from "../../src/cli/require_same_run.ts";
import { UsageError } from "../../src/cli/usage_error.ts";
import { emptyTrajectory, type Trajectory } from "../../src/rollout/trajectory.ts";

const EMPTY = emptyTrajectory({ id: "a", query: "q" }, { policy: "m" });

function require(trajectory: Partial<Trajectory>, grader: string, policy = "m"): void {
  requireSameRun({ ...EMPTY, ...trajectory }, { out: "x", policy, grader });
}

Deno.test("requireSameRun() lets the same policy and grader pass, and what does not tell them", () => {
  require({ reward: 1, rewardParts: { math: 1 } }, "math");
  require({ reward: null, rewardParts: { hidden_tests: null } }, "hidden_tests");
  require({ reward: 1, rewardParts: { judge: 1, math: 0 } }, "math");
  require({}, "none");
  require({ reward: 1, rewardParts: { of_its_env: 1 } }, "math");
  require({ reward: 1, versions: { paddock: "1" } }, "math");
});

Deno.test("requireSameRun() refuses what another has played or scored", () => {
  const cases: [Partial<Trajectory>, string, string][] = [
    [{ reward: 1, rewardParts: { gsm8k: 1 } }, "math", "must be scored by 'math': one is scored by 'gsm8k'"],
    [{ reward: 1, rewardParts: { gsm8k: 1 } }, "none", "must be scored by 'none': one is scored by 'gsm8k'"],
    [{}, "math", "must be scored by 'math': one is scored by 'none'"],
    [{ versions: { paddock: "1", policy: "n" } }, "none", "must hold episodes of 'm': it has one of 'n'"],
  ];
  for (const [trajectory, grader, says] of cases) {
    assertThrows(() => require(trajectory, grader), UsageError, says);
  }
});
