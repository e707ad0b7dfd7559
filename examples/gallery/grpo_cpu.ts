// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * Trains a policy by GRPO's group-relative advantages. The policy is a softmax over four programs, not a language
 * model: the sandbox runs the chosen program, and one that prints the answer gets reward 1.
 */
import { advantages } from "@paddock/paddock";
import { seededRandom } from "@paddock/paddock/datasets";
import { loadProfile, SandboxPool } from "@paddock/paddock/sandbox";

const programs = ["print(min(xs))", "print(max(xs))", "print(sum(xs))", "print(xs[9])"];
const [samples, updates, rate] = [8, 12, 1.5];
const logits = programs.map(() => 0);
const random = seededRandom(7);
await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1, resetMode: "rewind" });

function probabilities(): number[] {
  const weights = logits.map(Math.exp);
  const total = weights.reduce((sum, weight) => sum + weight);
  return weights.map((weight) => weight / total);
}

function sample(): number {
  let rest = random();
  const choice = probabilities().findIndex((probability) => (rest -= probability) < 0);
  return choice < 0 ? programs.length - 1 : choice;
}

/** Runs a program on random numbers, whose sum is the answer. */
async function play(choice: number): Promise<number> {
  const xs = Array.from({ length: 3 }, () => 1 + Math.floor(random() * 9));
  await using lease = await pool.acquire();
  const { stdout } = await lease.session.exec(programs[choice] ?? "", { inputs: { xs } });
  return stdout.trim() === String(xs.reduce((sum, x) => sum + x)) ? 1 : 0;
}

for (let update = 0; update <= updates; update++) {
  const choices = Array.from({ length: samples }, sample);
  const rewards: number[] = [];
  for (const choice of choices) rewards.push(await play(choice));
  const relative = advantages(rewards, { groups: choices.map(() => "sum") });
  const before = probabilities();
  for (const [at, choice] of choices.entries()) {
    // the gradient of log softmax is 1 for the choice, minus the probability
    for (const program of programs.keys()) {
      const slope = Number(program === choice) - (before[program] ?? 0);
      logits[program] = (logits[program] ?? 0) + rate * (relative[at] ?? 0) * slope / samples;
    }
  }
  const mean = rewards.reduce((sum, reward) => sum + reward) / samples;
  if (update % 4 === 0) console.log(`update ${update}: mean reward ${mean}, p(sum) ${before[2]?.toFixed(2)}`);
}
