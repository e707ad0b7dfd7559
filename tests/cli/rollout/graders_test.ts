import { assertEquals } from "@std/assert";
import { openGrader } from "../../../src/cli/rollout/graders.ts";
import type { GraderEntry } from "../../../src/rewards/registry.ts";
import { patternMatch } from "../../../src/rewards/text_match.ts";
import { gradeTrajectory } from "../../../src/rollout/grade_trajectory.ts";
import { emptyTrajectory } from "../../../src/rollout/trajectory.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";

Deno.test("openGrader() stops a grade at its deadline, and the episode of a rollout has no reward", async () => {
  const entry: GraderEntry = {
    about: "never ends",
    needs: "nothing",
    make: () => patternMatch({ pattern: /^(a+)+$/ }),
  };
  await using stack = new AsyncDisposableStack();
  const grader = await openGrader(entry, {}, { profile: await loadProfile("python"), size: 1, stack });
  const messages = [{ role: "assistant", content: `${"a".repeat(60)}!` }];
  const episode = { ...emptyTrajectory({ id: "a", query: "q" }), messages };
  const { reward, rewardParts, unscored, error } = await gradeTrajectory(episode, grader);
  assertEquals({ reward, rewardParts, error }, {
    reward: null,
    rewardParts: { pattern_match: null },
    error: undefined,
  });
  assertEquals(unscored, "deadline exceeded: the grade took more than 1000 ms");
});
