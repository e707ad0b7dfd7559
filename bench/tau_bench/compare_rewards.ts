import type { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import { TauBenchEnv } from "../../src/envs/tau_bench/tau_bench_env.ts";
import { respondAction, type ToolUserStep } from "../../src/envs/tool_user_env.ts";
import { scriptedUser } from "../../src/users/scripted_user.ts";
import { USER_STOP } from "../../src/users/user_simulator.ts";
import { type PlayActions, playOneByOne } from "./play_actions.ts";
import type { Rewarded } from "./native_rewards.ts";
import type { RewardCase } from "./reward_cases.ts";

/** Result of {@linkcode compareRewards}. */
export interface RewardComparison {
  readonly split: string;
  /** Number of compared rewards; 0 if the checkout has no `calculate_reward`. */
  readonly rewards: number;
  /** Number of compared rewards that were 1. */
  readonly ones: number;
  /** Differences, one sentence each. */
  readonly differences: readonly string[];
  /** Duration in the sandbox, in seconds. */
  readonly seconds: number;
}

/** Plays episodes in `lanes` sessions at once and compares their rewards with those of tau-bench's own code. */
export async function compareRewards(
  domain: TauBenchDomain,
  options: {
    split: string;
    lanes: number;
    cases: readonly RewardCase[];
    expected: AsyncIterable<Rewarded>;
    play?: PlayActions;
  },
): Promise<RewardComparison> {
  const { split, cases, expected } = options;
  const startedAt = performance.now();
  let seconds = 0;
  const sandboxed = playInLanes(domain, options).finally(() => {
    seconds = (performance.now() - startedAt) / 1000;
  });
  const [ours, theirs] = await Promise.all([sandboxed, Array.fromAsync(expected)]);
  const differences = theirs.length === 0 ? [] : cases.flatMap(({ index, what }, at) => {
    const [one, other] = [ours[at], theirs[at]].map((rewarded) => JSON.stringify(rewarded));
    return one === other ? [] : [`task ${index}, ${what}: ${one}, not ${other}`];
  });
  const ones = theirs.filter(({ reward }) => reward === 1).length;
  return { split, rewards: theirs.length, ones, differences, seconds };
}

async function playInLanes(
  domain: TauBenchDomain,
  { split, lanes, cases, play = playOneByOne }: {
    split: string;
    lanes: number;
    cases: readonly RewardCase[];
    play?: PlayActions;
  },
): Promise<Rewarded[]> {
  const rewarded: Rewarded[] = [];
  const waiting = cases.entries();
  await Promise.all(Array.from({ length: lanes }, async () => {
    let lines: readonly string[] = [];
    await using env = await TauBenchEnv.open({ domain, split, user: scriptedUser(() => lines) });
    for (const [at, played] of waiting) {
      lines = [
        "Hello",
        ...played.messages.map((_, turn) => turn + 1 === played.messages.length ? USER_STOP : ""),
      ];
      rewarded[at] = rewardedOf(await playCase(env, played, play));
    }
  }));
  return rewarded;
}

async function playCase(
  env: TauBenchEnv,
  { index, calls, messages }: RewardCase,
  play: PlayActions,
): Promise<ToolUserStep> {
  await env.reset(index);
  const actions = [
    ...calls.map(({ name, kwargs }) => ({ name, kwargs: {}, kwargsText: kwargs })),
    ...messages.map(respondAction),
  ];
  const step = (await play(env, actions)).at(-1);
  if (step?.done) return step;
  throw new Error(
    `Cannot compare the reward of task ${index} as its last action must end the episode: it has not ended`,
  );
}

/** Converts the last step of a sandboxed episode to the format of native rewards. */
function rewardedOf({ reward, rewardParts, info: { reward_info } }: ToolUserStep): Rewarded {
  const { gt_data_hash, outputs = null } = { ...reward_info?.info };
  return {
    reward,
    database: rewardParts?.database ?? NaN,
    gt_data_hash: String(gt_data_hash),
    outputs: outputs as Rewarded["outputs"],
    actions: reward_info?.actions.map(({ name, kwargs }) => JSON.stringify([name, kwargs])) ?? [],
  };
}
