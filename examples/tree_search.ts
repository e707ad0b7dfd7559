// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * Compares two searches with the same policy, the same tasks and the same number of execs. The policy proposes random
 * moves. Linear sampling plays whole episodes. The tree plays the moves of a step in copies of the best states so far,
 * which needs forks: a state is a Python session, and nothing is run again. Both take the best state that they met.
 *
 * `deno run -A examples/tree_search.ts 20` plays 20 tasks, and prints the mean rewards and the 95 % interval of their
 * difference.
 */
import { type BranchingLease, loadProfile, SandboxPool } from "@paddock/paddock/sandbox";

const steps = 6;
const width = 2;
/** Number of execs of each step. */
const proposals = 8;

/** A task: a point of three numbers that is to be moved to a target. The reward is the part of the way that is done. */
const task = (seed: number) =>
  `import math, random
target = [random.Random(${seed} + i).randint(-12, 12) for i in range(3)]
point = [0, 0, 0]
start = math.dist(point, target)
`;
const move = (axis: number, by: number) => `point[${axis}] += ${by}\n1 - math.dist(point, target) / start`;

/** The policy: a move that does not depend on the state. The numbers are those of a linear congruential generator. */
function createPolicy(seed: number): () => string {
  let state = seed;
  const below = (limit: number) => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
  return () => move(below(3), below(13) - 6);
}

async function reward({ session }: BranchingLease, code: string): Promise<number> {
  const result = await session.exec(code);
  if (result.status !== "ok") throw new Error(`a move ended as '${result.status}'`);
  return Number(result.value);
}

/** Plays episodes one after the other, and returns the best reward. */
async function sampleLinearly(pool: SandboxPool, seed: number): Promise<number> {
  const policy = createPolicy(seed);
  let best = 0;
  for (let episode = 0; episode < proposals; episode++) {
    await using lease = await pool.acquire();
    await lease.session.exec(task(seed));
    for (let step = 0; step < steps; step++) best = Math.max(best, await reward(lease, policy()));
  }
  return best;
}

/** Plays each move in a copy of one of the best states, and returns the best reward. */
async function searchTree(pool: SandboxPool, seed: number): Promise<number> {
  const policy = createPolicy(seed);
  const root = await pool.acquire();
  await root.session.exec(task(seed));
  let states: { lease: BranchingLease; value: number }[] = [{ lease: root, value: 0 }];
  for (let step = 0; step < steps; step++) {
    const found = [...states];
    for (const { lease } of states) {
      for (const copy of await lease.session.fork(proposals / states.length)) {
        found.push({ lease: copy, value: await reward(copy, policy()) });
      }
    }
    found.sort((one, other) => other.value - one.value);
    for (const { lease } of found.splice(width)) await lease[Symbol.asyncDispose]();
    states = found;
  }
  const best = states[0]?.value ?? 0;
  for (const { lease } of states) await lease[Symbol.asyncDispose]();
  return best;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

await using pool = new SandboxPool({
  profile: await loadProfile("python"),
  size: width + proposals,
  resetMode: "rewind",
});
const seeds = Array.from({ length: Number(Deno.args[0] ?? 20) }, (_, index) => index + 1);
const linear: number[] = [];
const tree: number[] = [];
for (const seed of seeds) {
  linear.push(await sampleLinearly(pool, seed));
  tree.push(await searchTree(pool, seed));
}
const gains = tree.map((value, index) => value - (linear[index] ?? 0));
const deviation = Math.sqrt(
  mean(gains.map((gain) => (gain - mean(gains)) ** 2)) * seeds.length / (seeds.length - 1),
);
const margin = 1.96 * deviation / Math.sqrt(seeds.length);
const execs = steps * proposals;
console.log(`${seeds.length} tasks, ${execs} moves each`);
console.log(`linear sampling: mean reward ${mean(linear).toFixed(3)}`);
console.log(`tree search: mean reward ${mean(tree).toFixed(3)}`);
console.log(`difference: ${mean(gains).toFixed(3)} ± ${margin.toFixed(3)} (95 %)`);
