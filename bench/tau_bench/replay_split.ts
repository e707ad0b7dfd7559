import { TauBenchEnv } from "../../src/envs/tau_bench/tau_bench_env.ts";
import type { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import { scriptedUser } from "../../src/users/scripted_user.ts";
import { type PlayActions, playOneByOne } from "./play_actions.ts";
import type { Replayed } from "./native_replay.ts";

/** Result of {@linkcode replaySplit}. */
export interface SplitReplay {
  readonly split: string;
  readonly tasks: number;
  /** Number of compared observations. */
  readonly observations: number;
  /** Number of compared hashes of the data. */
  readonly hashes: number;
  /** Differences, one sentence each. */
  readonly differences: readonly string[];
  /** Duration in the sandbox, in seconds; the native replay runs at the same time. */
  readonly seconds: number;
}

/** Replays the tasks of a split in `lanes` sessions at once and compares them with native Python. */
export async function replaySplit(
  domain: TauBenchDomain,
  options: { split: string; lanes: number; expected: AsyncIterable<Replayed>; play?: PlayActions },
): Promise<SplitReplay> {
  const { split, lanes, expected, play = playOneByOne } = options;
  const startedAt = performance.now();
  let seconds = 0;
  const sandboxed = replayInLanes(domain, { split, lanes, play }).finally(() => {
    seconds = (performance.now() - startedAt) / 1000;
  });
  const [ours, theirs] = await Promise.all([sandboxed, Array.fromAsync(expected)]);
  const pairs = ours.map((replayed, index) => ({ ours: replayed, theirs: theirs[index] }));
  return {
    split,
    tasks: ours.length,
    observations: pairs.reduce((sum, { theirs }) => sum + (theirs?.observations.length ?? 0), 0),
    hashes: pairs.filter(({ theirs }) => theirs !== undefined).length,
    differences: [
      ...(ours.length === theirs.length ? [] : [`python3 has ${theirs.length} tasks, not ${ours.length}`]),
      ...pairs.flatMap((pair) => differencesOf(pair)),
    ],
    seconds,
  };
}

async function replayInLanes(
  domain: TauBenchDomain,
  { split, lanes, play }: { split: string; lanes: number; play: PlayActions },
): Promise<Replayed[]> {
  const replays: Replayed[] = [];
  const indices = domain.tasks(split).keys();
  await Promise.all(Array.from({ length: lanes }, async () => {
    await using env = await TauBenchEnv.open({ domain, split, user: scriptedUser(["Hello"]) });
    for (const index of indices) replays[index] = await replayTask(env, { domain, split, index, play });
  }));
  return replays;
}

async function replayTask(
  env: TauBenchEnv,
  { domain, split, index, play }: { domain: TauBenchDomain; split: string; index: number; play: PlayActions },
): Promise<Replayed> {
  await env.reset(index);
  const steps = await play(env, domain.tasks(split)[index]?.actions ?? []);
  const observations = steps.map(({ observation }) => observation);
  return { index, observations, hash: await env.dataHash() };
}

function differencesOf({ ours, theirs }: { ours: Replayed; theirs: Replayed | undefined }): string[] {
  if (theirs === undefined) return [];
  const found: string[] = [];
  if (ours.hash !== theirs.hash) found.push(`task ${ours.index}: hash ${ours.hash}, not ${theirs.hash}`);
  if (ours.observations.length !== theirs.observations.length) {
    found.push(
      `task ${ours.index}: ${ours.observations.length} observations, not ${theirs.observations.length}`,
    );
  }
  theirs.observations.forEach((text, step) => {
    const other = ours.observations[step];
    if (other === undefined || text === other) return;
    found.push(`task ${ours.index}, step ${step}: ${JSON.stringify(other)}, not ${JSON.stringify(text)}`);
  });
  return found;
}
