import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { advantages, type AdvantagesOptions } from "../../src/rollout/advantages.ts";

const METHODS = ["grpo", "dr-grpo", "rloo"] as const;

function assertAllAlmostEqual(actual: readonly (number | null)[], expected: readonly (number | null)[]) {
  assertEquals(actual.length, expected.length);
  for (const [index, value] of actual.entries()) {
    const other = expected[index] ?? null;
    if (value === null || other === null) assertEquals(value, other);
    else assert(Math.abs(value - other) < 1e-6, `${value} is not ${other}`);
  }
}

Deno.test("advantages() computes the values of each method", () => {
  const rewards = [1, 0, 0, 3];
  // torch: (r - r.mean()) / (r.std() + 1e-6)
  assertAllAlmostEqual(advantages(rewards), [0, -0.7071063, -0.7071063, 1.4142126]);
  assertAllAlmostEqual(advantages(rewards, { method: "dr-grpo" }), [0, -1, -1, 2]);
  assertAllAlmostEqual(advantages(rewards, { method: "rloo" }), [0, -4 / 3, -4 / 3, 8 / 3]);
  // TRL adds 1e-4
  assertAllAlmostEqual(advantages([1, 0], { epsilon: 1e-4 }), [0.7070068, -0.7070068]);
});

Deno.test("advantages() compares a reward with its group only", () => {
  const groups = ["a", "b", "a", "b"];
  assertEquals(advantages([1, 5, 3, 9], { groups, method: "dr-grpo" }), [-1, -2, 1, 2]);
  assertEquals(advantages([1, 5, 3, 9], { groups: [0, 1, 0, 1], method: "dr-grpo" }), [-1, -2, 1, 2]);
});

Deno.test("advantages() gives 0 to equal rewards and to a single reward", () => {
  for (const method of METHODS) {
    assertEquals(advantages([0.1, 0.1, 0.1], { method }), [0, 0, 0]);
    assertEquals(advantages([7], { method }), [0]);
    assertEquals(advantages([7, null], { method, epsilon: 0 }), [0, null]);
    assertEquals(advantages([], { method }), []);
  }
});

Deno.test("advantages() leaves null rewards out, or gives them 'nullReward'", () => {
  const rewards = [1, null, 0];
  assertEquals(advantages(rewards, { method: "dr-grpo" }), [0.5, null, -0.5]);
  assertEquals(advantages(rewards, { method: "rloo" }), [1, null, -1]);
  assertEquals(advantages([2, null, 1], { method: "dr-grpo", nullReward: 0 }), [1, -1, 0]);
  assertEquals(advantages([null, null]), [null, null]);
});

Deno.test("advantages() of each group sum to 0 and do not depend on the order", () => {
  const rewards = fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(rewards, fc.constantFrom(...METHODS), (rewards, method) => {
    const result = advantages(rewards, { method });
    const sum = result.reduce<number>((sum, value) => sum + (value ?? 0), 0);
    assert(Math.abs(sum) < 1e-6, `${sum}`);
    assertAllAlmostEqual(advantages(rewards.toReversed(), { method }).toReversed(), result);
  }));
});

Deno.test("advantages() throws for values that are not finite, for wrong groups and an unknown method", () => {
  const cases: [(number | null)[], AdvantagesOptions, string][] = [
    [[NaN], {}, "'rewards[0]' must be a finite number: current value is NaN"],
    [[0, Infinity], {}, "'rewards[1]'"],
    [[0], { epsilon: -1 }, "'epsilon' must be >= 0: current value is -1"],
    [[0], { nullReward: NaN }, "'nullReward'"],
    [[0, 1], { groups: ["a"] }, "one value for each of 2 rewards: it has 1"],
    [
      [0],
      JSON.parse('{"method": "ppo"}'),
      "'method' must be one of grpo, dr-grpo, rloo: current value is ppo",
    ],
  ];
  for (const [rewards, options, message] of cases) {
    assertThrows(() => advantages(rewards, options), RangeError, message);
  }
});
