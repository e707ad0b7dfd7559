import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import {
  chooseGraders,
  openGrader,
  openGraders,
  openServedGraders,
} from "../../../src/cli/rollout/graders.ts";
import { WHEELS } from "../../../src/rewards/math/math_verify/wheels.ts";
import { type GraderEntry, GRADERS } from "../../../src/rewards/registry.ts";
import { patternMatch } from "../../../src/rewards/text_match.ts";
import { gradeTrajectory } from "../../../src/rollout/grade_trajectory.ts";
import { emptyTrajectory } from "../../../src/rollout/trajectory.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import { FakeServer } from "../../policy/fake_server.ts";
import { TempFolder } from "../../temp_folder.ts";

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

Deno.test("openGrader() refuses 'math_verify' as a usage error when its wheels are missing", async () => {
  await using folder = await TempFolder.of();
  await using stack = new AsyncDisposableStack();
  const { math_verify: entry } = GRADERS;
  assert(entry);
  const host = { profile: await loadProfile("python"), size: 1, stack };
  await assertRejects(
    () => openGrader(entry, { cacheDir: folder.path }, host),
    UsageError,
    "run 'deno task fetch-math-verify' once",
  );
});

Deno.test("openServedGraders() offers 'math_verify' when its wheels are there", async () => {
  await using without = await TempFolder.of();
  await using withWheels = await TempFolder.of(
    Object.fromEntries(WHEELS.map(({ file }) => [`math-verify/${file}`, ""])),
  );
  await using stack = new AsyncDisposableStack();
  const profile = await loadProfile("python");
  const offered = async (
    cacheDir: string,
  ) => [...(await openServedGraders({ cacheDir }, { profile, stack })).keys()];
  assert(!(await offered(without.path)).includes("math_verify"));
  assert((await offered(withWheels.path)).includes("math_verify"));
});

Deno.test("chooseGraders() reads names and weights, and refuses what is neither", () => {
  const read = (...values: string[]) =>
    chooseGraders(values, { graderAllow: values.some((value) => value.includes("./")) ? ["net"] : [] })
      .map(({ name, weight, choice }) => [name, weight, "path" in choice]);
  assertEquals(read("gsm8k", "ifeval=0.2", "./a=b.ts=-1e-1"), [
    ["gsm8k", 1, false],
    ["ifeval", 0.2, false],
    ["./a=b.ts", -0.1, true],
  ]);
  assertEquals(read("none"), []);
  const wrong: [string[], string][] = [
    [["gsm8k=x"], "as its weight must be a number: current value is 'x'"],
    [["gsm8k="], "as its weight must be a number: current value is ''"],
    [["nope"], "Cannot find grader 'nope'"],
    [["gsm8k", "none"], "Cannot grade with 'none' beside other graders"],
  ];
  for (const [values, says] of wrong) assertThrows(() => chooseGraders(values, {}), UsageError, says);
});

Deno.test("openGraders() adds the weighted scores and keeps each of them", async () => {
  await using stack = new AsyncDisposableStack();
  const host = { profile: await loadProfile("python"), size: 1, stack };
  const messages = [{ role: "assistant", content: "It is 42" }];
  const episode = { ...emptyTrajectory({ id: "a", query: "q", answer: "42" }), messages };
  const grade = async (...values: string[]) => {
    const grader = await openGraders(chooseGraders(values, {}), {}, host);
    assert(grader);
    const { reward, rewardParts } = await gradeTrajectory(episode, grader);
    return { reward, rewardParts };
  };
  assertEquals(await grade("number_match"), { reward: 1, rewardParts: { number_match: 1 } });
  assertEquals(await grade("number_match=0.5"), {
    reward: 0.5,
    rewardParts: { rubric: 0.5, number_match: 1 },
  });
  assertEquals(await grade("number_match=0.75", "exact_match=0.25"), {
    reward: 0.75,
    rewardParts: { rubric: 0.75, number_match: 1, exact_match: 0 },
  });
  assertEquals(await openGraders([], {}, host), undefined);
  await assertRejects(() => grade("gsm8k", "gsm8k"), UsageError, "'gsm8k' occurs twice");
});

Deno.test("openGrader() watches the server of the judge", async () => {
  await using server = new FakeServer(() => new Response("{}", { status: 401 }));
  await using stack = new AsyncDisposableStack();
  const unusable: string[] = [];
  const watched = { onUnusable: ({ message }: Error) => void unusable.push(message) };
  const flags = { judge: `openai:${server.url}`, judgeModel: "m", server: watched };
  const host = { profile: await loadProfile("python"), size: 1, stack };
  const [choice] = chooseGraders(["judge"], flags);
  assert(choice);
  const grader = await openGrader(choice.choice, flags, host);
  const messages = [{ role: "assistant", content: "It is 42" }];
  const { reward } = await gradeTrajectory(
    { ...emptyTrajectory({ id: "a", query: "q", answer: "42" }), messages },
    grader,
  );
  assertEquals([reward, unusable.length], [null, 1]);
  assert(unusable[0]?.includes("answered 401"));
});
