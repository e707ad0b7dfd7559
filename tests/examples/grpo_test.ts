import { assert, assertEquals } from "@std/assert";
import { clippedGradient, clippedObjective, type Sample, SoftmaxPolicy } from "../../examples/grpo.ts";
import { seededRandom } from "../../src/seeded_random.ts";

const random = seededRandom(3);

/** Returns a policy with random weights, and samples of an older policy. */
function randomCase(shift: number): { policy: SoftmaxPolicy; samples: Sample[] } {
  const policy = new SoftmaxPolicy();
  for (const row of policy.weights) row.forEach((_, at) => row[at] = random() - 0.5);
  const samples = Array.from({ length: 6 }, () => {
    const features = policy.weights[0]?.map(() => random() - 0.5) ?? [];
    const { choice, logProb } = policy.sample(features, random);
    return { features, choice, logProb: logProb + shift * (random() - 0.5), advantage: random() - 0.5 };
  });
  return { policy, samples };
}

Deno.test("clippedGradient() is the gradient of clippedObjective()", () => {
  for (const shift of [0, 0.3, 2]) {
    const { policy, samples } = randomCase(shift);
    const gradient = clippedGradient(policy, samples);
    for (const [program, row] of policy.weights.entries()) {
      for (const at of [0, 5, row.length - 1]) {
        const weight = row[at] ?? 0;
        const step = 1e-6;
        row[at] = weight + step;
        const above = clippedObjective(policy, samples);
        row[at] = weight - step;
        const below = clippedObjective(policy, samples);
        row[at] = weight;
        const numeric = (above - below) / (2 * step);
        assert(Math.abs(numeric - (gradient[program]?.[at] ?? 0)) < 1e-6, `${program}, ${at}: ${numeric}`);
      }
    }
  }
});

Deno.test("clippedGradient() is 0 for a reply whose ratio is clipped, and for advantage 0", () => {
  const { policy, samples } = randomCase(0);
  const gradientOf = (sample: Partial<Sample>) =>
    clippedGradient(policy, samples.slice(0, 1).map((first) => ({ ...first, ...sample }))).flat();
  const isZero = (gradient: readonly number[]) => gradient.every((value) => value === 0);
  const [{ logProb } = { logProb: 0 }] = samples;
  assertEquals(isZero(gradientOf({ logProb: logProb - 1, advantage: 1 })), true);
  assertEquals(isZero(gradientOf({ logProb: logProb - 1, advantage: -1 })), false);
  assertEquals(isZero(gradientOf({ logProb: logProb + 1, advantage: -1 })), true);
  assertEquals(isZero(gradientOf({ advantage: 0 })), true);
});
