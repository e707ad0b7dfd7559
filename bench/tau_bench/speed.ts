import type { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import { TauBenchEnv } from "../../src/envs/tau_bench/tau_bench_env.ts";
import { respondAction, type ToolUserAction } from "../../src/envs/tool_user_env.ts";
import { scriptedUser } from "../../src/users/scripted_user.ts";
import { USER_STOP } from "../../src/users/user_simulator.ts";
import { median } from "../measure.ts";
import type { Row } from "../row.ts";
import { ownCalls } from "./own_calls.ts";

/** Counts of one lane. */
interface Played {
  steps: number;
  stepMs: number;
  readonly resets: number[];
  readonly rewards: number[];
}

/**
 * Measures episodes of their task's own actions in `lanes` concurrent sessions: steps per second alone, and in whole
 * episodes from the reset to the reward.
 */
export async function speedRows(
  domain: TauBenchDomain,
  options: { split: string; lanes: number; ms: number },
): Promise<Row[]> {
  const { split, lanes, ms } = options;
  const startedAt = performance.now();
  const played = await Promise.all(
    Array.from({ length: lanes }, (_, lane) => playLane(domain, { split, lane, until: startedAt + ms })),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const steps = played.reduce((sum, lane) => sum + lane.steps, 0);
  const name = `${domain.name}/${split}`;
  const rate = played.reduce((sum, lane) => sum + 1000 * lane.steps / lane.stepMs, 0);
  return [
    { what: `${name}: steps, ${lanes} at once`, value: rate, unit: "/s", bound: 200 },
    { what: `${name}: steps of whole episodes`, value: steps / seconds, unit: "/s" },
    {
      what: `${name}: reset`,
      value: median(played.flatMap(({ resets }) => resets)),
      unit: "ms",
      bound: 20,
    },
    { what: `${name}: reward`, value: median(played.flatMap(({ rewards }) => rewards)), unit: "ms" },
  ];
}

async function playLane(
  domain: TauBenchDomain,
  { split, lane, until }: { split: string; lane: number; until: number },
): Promise<Played> {
  const played: Played = { steps: 0, stepMs: 0, resets: [], rewards: [] };
  await using env = await TauBenchEnv.open({ domain, split, user: scriptedUser(["Hello", USER_STOP]) });
  for (let index = lane; performance.now() < until; index++) {
    await playTask(env, { index: index % env.taskCount, calls: ownCalls(domain, { split, index }), played });
  }
  return played;
}

async function playTask(
  env: TauBenchEnv,
  { index, calls, played }: { index: number; calls: readonly ToolUserAction[]; played: Played },
): Promise<void> {
  const startedAt = performance.now();
  await env.reset(index);
  const resetAt = performance.now();
  for (const action of calls) await env.step(action);
  const steppedAt = performance.now();
  await env.step(respondAction("That is all."));
  played.resets.push(resetAt - startedAt);
  played.steps += calls.length;
  played.stepMs += steppedAt - resetAt;
  played.rewards.push(performance.now() - steppedAt);
}
