// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * Trains a tiny policy by GRPO on a CPU: `deno run -A examples/grpo.ts [--seeds 10] [--updates 60]`.
 *
 * The policy is a softmax over eight programs, whose logits are linear in the words of the question. It is a
 * contextual bandit with 256 weights, not a language model: its "reply" is one of eight fixed programs with the
 * numbers of the question. All else is real: Paddock plays the episodes, the sandbox runs each program and its output
 * decides the reward, advantages are relative to the group of a task, and the weights follow the gradient of
 * the clipped objective of GRPO (without a KL term).
 */
import { parseArgs } from "node:util";
import {
  advantages,
  ChatEnv,
  DatasetChatEnv,
  groupOf,
  loadProfile,
  type Observation,
  PythonInterpreter,
  replyAction,
  SandboxPool,
  type Step,
  type Task,
  type Transform,
  type TransformContext,
  TransformedEnv,
} from "@paddock/paddock";
import { type Random, seededRandom } from "@paddock/paddock/datasets";

/** Programs that the policy chooses from. The last two fail in the sandbox. */
const PROGRAMS = [
  "print(sum(numbers))",
  "print(max(numbers))",
  "print(min(numbers))",
  "print(len(numbers))",
  "import math\nprint(math.prod(numbers))",
  "print(numbers[0])",
  "print(numbers[99])",
  "print(numbrs)",
];

/** Questions, and the function that gives their answer. */
const QUESTIONS: readonly [string, (numbers: readonly number[]) => number][] = [
  ["What is the sum of", (numbers) => numbers.reduce((sum, number) => sum + number, 0)],
  ["What is the largest of", (numbers) => Math.max(...numbers)],
  ["What is the smallest of", (numbers) => Math.min(...numbers)],
  ["What is the product of", (numbers) => numbers.reduce((product, number) => product * number, 1)],
  ["How many are", (numbers) => numbers.length],
];

/** Number of weights of a program: words are hashed to this many features. */
const FEATURES = 32;
const TASKS_PER_UPDATE = 4;
const SAMPLES = 8;
const EPOCHS = 4;
const CLIP = 0.2;
const LEARNING_RATE = 1.5;
const EVALUATION_BATCHES = 4;

/** One sampled reply: its features, the chosen program, and the log-probability when it was sampled. */
export interface Sample {
  readonly features: readonly number[];
  readonly choice: number;
  readonly logProb: number;
  readonly advantage: number;
}

/** A softmax over the programs whose logits are linear in the features. */
export class SoftmaxPolicy {
  /** Weight of each feature for each program. */
  readonly weights: number[][] = PROGRAMS.map(() => Array<number>(FEATURES).fill(0));

  /** Returns the log-probability of each program. */
  logProbs(features: readonly number[]): number[] {
    const logits = this.weights.map((row) => dot(row, features));
    const max = Math.max(...logits);
    const logSum = max + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0));
    return logits.map((logit) => logit - logSum);
  }

  /** Samples a program. */
  sample(features: readonly number[], random: Random): { choice: number; logProb: number } {
    const logProbs = this.logProbs(features);
    let rest = random();
    let choice = logProbs.findIndex((logProb) => (rest -= Math.exp(logProb)) < 0);
    if (choice === -1) choice = logProbs.length - 1; // rounding
    return { choice, logProb: logProbs[choice] ?? 0 };
  }

  /** Adds a gradient, scaled by the learning rate. */
  ascend(gradient: readonly (readonly number[])[], rate: number): void {
    this.weights.forEach((row, program) =>
      row.forEach((weight, at) => row[at] = weight + rate * (gradient[program]?.[at] ?? 0))
    );
  }
}

/** Returns the clipped objective: the mean of `min(ratio * A, clip(ratio) * A)`. */
export function clippedObjective(policy: SoftmaxPolicy, samples: readonly Sample[]): number {
  const terms = samples.map(({ features, choice, logProb, advantage }) => {
    const ratio = Math.exp((policy.logProbs(features)[choice] ?? 0) - logProb);
    return Math.min(ratio * advantage, Math.min(Math.max(ratio, 1 - CLIP), 1 + CLIP) * advantage);
  });
  return terms.reduce((sum, term) => sum + term, 0) / samples.length;
}

/** Returns the gradient of {@linkcode clippedObjective} by the weights. */
export function clippedGradient(policy: SoftmaxPolicy, samples: readonly Sample[]): number[][] {
  const gradient = PROGRAMS.map(() => Array<number>(FEATURES).fill(0));
  for (const { features, choice, logProb, advantage } of samples) {
    const logProbs = policy.logProbs(features);
    const ratio = Math.exp((logProbs[choice] ?? 0) - logProb);
    const isClipped = advantage > 0 ? ratio > 1 + CLIP : ratio < 1 - CLIP;
    if (isClipped) continue;
    for (const [program, row] of gradient.entries()) {
      // the gradient of log softmax by a logit is 1 for the choice, minus the probability
      const byLogit = Number(program === choice) - Math.exp(logProbs[program] ?? 0);
      const scale = ratio * advantage * byLogit / samples.length;
      features.forEach((feature, at) => row[at] = (row[at] ?? 0) + scale * feature);
    }
  }
  return gradient;
}

/** Ends each episode after its program, with reward 1 if the program printed the answer, else 0. */
class RewardOutput implements Transform {
  step(step: Step, { task }: TransformContext): Step {
    const output = step.toolResults[0]?.exec?.stdout.trim();
    return { ...step, terminated: true, reward: output === task.answer ? 1 : 0 };
  }
}

/** Returns endless rows of questions with random numbers. */
function* questions(random: Random): Generator<Task> {
  for (let number = 1;; number++) {
    const [text, answer] = QUESTIONS[Math.floor(random() * QUESTIONS.length)] ?? QUESTIONS[0] ?? [];
    const numbers = Array.from({ length: 3 + Math.floor(random() * 3) }, () => 2 + Math.floor(random() * 8));
    if (text === undefined || answer === undefined) return;
    yield { id: `${number}`, query: `${text} ${numbers.join(", ")}?`, answer: `${answer(numbers)}` };
  }
}

/** Opens a batch of chats whose programs run in the pool. Neighbouring chats have the same question. */
function openEnv(pool: SandboxPool, random: Random): DatasetChatEnv {
  return new DatasetChatEnv({
    dataset: () => questions(random),
    shuffle: false,
    numEnvs: TASKS_PER_UPDATE,
    samples: SAMPLES,
    groupSamples: true,
    makeEnv: (_index, options) =>
      new TransformedEnv(new ChatEnv(options), [
        new PythonInterpreter({ pool, persistent: false, timeoutMs: 2_000 }),
        new RewardOutput(),
      ]),
  });
}

/** Plays one episode in each chat. An episode that failed has no reward and is left out of its group. */
async function playBatch(env: DatasetChatEnv, policy: SoftmaxPolicy, random: Random) {
  await env.reset();
  const choices = env.observations.map((observation) => {
    if (observation === null) return null;
    const query = queryOf(observation);
    const features = featuresOf(query);
    return { query, features, group: groupOf(observation.task), ...policy.sample(features, random) };
  });
  const outcomes = await env.step(
    choices.map((made) => made && replyAction(replyOf(made.query, made.choice))),
  );
  return choices.flatMap((made, index) =>
    made === null ? [] : [{ ...made, reward: outcomes[index]?.step?.reward ?? null }]
  );
}

function queryOf({ task: { query } }: Observation): string {
  return typeof query === "string" ? query : "";
}

/** Returns the reply with a program for the numbers of the question. */
function replyOf(query: string, choice: number): string {
  return `\`\`\`python\nnumbers = [${query.match(/\d+/g)?.join(", ")}]\n${PROGRAMS[choice]}\n\`\`\``;
}

/** Returns the words of the question as a vector of length 1. Numbers are no words. */
function featuresOf(query: string): number[] {
  const features = Array<number>(FEATURES).fill(0);
  for (const word of query.toLowerCase().match(/[a-z]+/g) ?? []) {
    const hash = [...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7);
    features[hash % FEATURES] = 1;
  }
  const length = Math.sqrt(dot(features, features));
  return features.map((feature) => feature / length);
}

function dot(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
}

/** Returns the mean reward of sampled replies to new questions. */
async function evaluate(pool: SandboxPool, policy: SoftmaxPolicy, seed: number): Promise<number> {
  await using env = openEnv(pool, seededRandom(seed));
  const random = seededRandom(seed + 1);
  const rewards: number[] = [];
  for (let batch = 0; batch < EVALUATION_BATCHES; batch++) {
    const episodes = await playBatch(env, policy, random);
    rewards.push(...episodes.flatMap(({ reward }) => reward ?? []));
  }
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}

/** Trains a policy and returns its mean reward before and after. */
export async function train(
  pool: SandboxPool,
  { seed, updates }: { seed: number; updates: number },
): Promise<{ before: number; after: number }> {
  const policy = new SoftmaxPolicy();
  const evaluationSeed = 1_000_000 + seed;
  const before = await evaluate(pool, policy, evaluationSeed);
  await using env = openEnv(pool, seededRandom(2 * seed));
  const random = seededRandom(2 * seed + 1);
  for (let update = 0; update < updates; update++) {
    const episodes = await playBatch(env, policy, random);
    const relative = advantages(episodes.map(({ reward }) => reward), {
      groups: episodes.map(({ group }) => group),
    });
    const samples = episodes.flatMap(({ features, choice, logProb }, index): Sample[] => {
      const advantage = relative[index] ?? null;
      return advantage === null ? [] : [{ features, choice, logProb, advantage }];
    });
    if (samples.length === 0) continue;
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      policy.ascend(clippedGradient(policy, samples), LEARNING_RATE);
    }
  }
  return { before, after: await evaluate(pool, policy, evaluationSeed) };
}

function wholeNumber(name: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new RangeError(`Cannot train as --${name} must be a whole number >= 1: current value is ${text}`);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { seeds: { type: "string", default: "1" }, updates: { type: "string", default: "60" } },
  });
  const [seeds, updates] = [wholeNumber("seeds", values.seeds), wholeNumber("updates", values.updates)];
  await using pool = new SandboxPool({ profile: await loadProfile("python"), resetMode: "rewind" });
  console.log("seed  before  after  seconds");
  let risen = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const startMs = performance.now();
    const { before, after } = await train(pool, { seed, updates });
    const seconds = (performance.now() - startMs) / 1000;
    if (after > before) risen++;
    const cells = [`${seed}`, before.toFixed(2), after.toFixed(2), seconds.toFixed(1)];
    console.log(cells.map((cell, at) => cell.padStart([4, 6, 5, 7][at] ?? 0)).join("  "));
  }
  console.log(`The reward rose in ${risen} of ${seeds} seeds`);
  if (risen < 0.9 * seeds) Deno.exit(1);
}
