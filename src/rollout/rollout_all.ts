import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { mapConcurrently } from "../async/map_concurrently.ts";
import { ArgumentTypeError } from "../errors.ts";
import type { Env } from "../envs/env.ts";
import { isRecursiveEnv } from "../envs/rlm/recursive_env.ts";
import type { Policy } from "../policy/policy.ts";
import { type Task, type TaskInput, toTask } from "../task.ts";
import type { InteractionResult } from "./interaction_result.ts";
import type { CutScore } from "./episode/episode_score.ts";
import { resumedPolicy } from "./resumed_policy.ts";
import { requireMaxTurns, rollout, type RolloutOptions } from "./rollout.ts";
import { rolloutRecursive } from "./rollout_recursive.ts";
import { checkBranchPoints, requireBranching, rolloutTree, type RolloutTreeOptions } from "./rollout_tree.ts";
import type { TokenOptions } from "./tokens/episode_writer.ts";
import { requireTrainable } from "./tokens/require_trainable.ts";
import { TOKEN_FORMAT_OPTIONS, TokenFormat } from "./tokens/token_format.ts";
import { emptyTrajectory, type Trajectory, withFailure } from "./trajectory.ts";

/** Options of {@linkcode rolloutAll}. */
export interface RolloutAllOptions extends EpisodesOptions {
  /**
   * Makes the env of an episode, which is disposed at the episode's end. `resumed` is the saved episode that this
   * episode continues: a simulated user must repeat the saved messages.
   */
  makeEnv: (task: Task, resumed?: InteractionResult) => Env | Promise<Env>;
  policy: Policy;
  /** Name of the env, such as `python`. Trajectories record the name. */
  envName?: string | undefined;
  /** Factor of the limits of time of programs: `timeScale` of the profile. Trajectories record the factor. */
  timeScale?: number | undefined;
  /**
   * Returns the saved part of an episode, which is replayed and then continued. If the env responds differently, for
   * example because the env shows the time, the episode is played from the start.
   */
  resumed?: ((episode: Episode) => InteractionResult | undefined) | undefined;
  /**
   * Plays each episode as a tree of branches, and yields all trajectories of the tree together. The branches of a
   * tree are played in turn, as other trees are played meanwhile. Not for episodes that are `resumed`.
   */
  branch?: RolloutTreeOptions["branch"] | undefined;
  /** Options for writing the tokens of each episode. */
  tokens?: TokenOptions | undefined;
  /**
   * Maximum number of concurrent episodes.
   *
   * @default 8
   */
  concurrency?: number | undefined;
  /**
   * Yields trajectories in the order of the tasks, not of their ends.
   *
   * @default false
   */
  ordered?: boolean | undefined;
  /**
   * Maximum number of turns, after which an episode is truncated.
   *
   * @default 64
   */
  maxTurns?: number | undefined;
  /**
   * Score of an episode that a limit of tokens cut off, as for {@linkcode rollout}.
   *
   * @default "grade"
   */
  cutScore?: CutScore | undefined;
  /** Limits of each episode, as for {@linkcode rollout}. */
  limits?: RolloutOptions["limits"];
  /** Called when an episode starts. */
  onStart?: ((episode: Episode) => void) | undefined;
  /**
   * Called and awaited when an episode ends, before the trajectory is yielded. If this function rejects, the whole
   * rollout rejects with the error.
   */
  onTrajectory?: ((trajectory: Trajectory) => void | Promise<void>) | undefined;
  /**
   * Called when an episode has ended, after {@linkcode RolloutAllOptions.onTrajectory} of the last trajectory. The
   * first trajectory is the episode's trajectory; trajectories of the code's questions, or of branches, follow.
   */
  onEnd?: ((trajectories: readonly [Trajectory, ...Trajectory[]]) => void) | undefined;
  /** Called with the turns so far of an episode that was aborted. */
  onAborted?: ((trajectory: Trajectory) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Plays the episodes of all tasks, several at once, and yields their trajectories. Tasks are read only as fast as
 * they are played, so their number is not limited.
 *
 * If an episode fails, the trajectory has an `error`, and the others continue. If `signal` is aborted, the generator
 * rejects with the signal's reason. If reading the tasks fails, the generator yields the trajectories of earlier tasks
 * and rejects with that error. In both cases all envs are disposed first. If tokens are recorded and the policy's server
 * returns no token ids, the generator rejects with a `TypeError` before the first episode.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, EndOnFinalReply, rolloutAll, scriptedPolicy, TransformedEnv } from "@paddock/paddock";
 *
 * const trajectories = rolloutAll([{ id: "1", query: "Hello" }, { id: "2", query: "Good morning" }], {
 *   makeEnv: () => new TransformedEnv(new ChatEnv(), [new EndOnFinalReply()]),
 *   policy: scriptedPolicy({ replies: () => ["Hi."] }),
 *   ordered: true,
 * });
 * const ids = await Array.fromAsync(trajectories, ({ task }) => task.id);
 * assertEquals(ids.join(), "1,2");
 * ```
 */
export async function* rolloutAll(
  tasks: AsyncIterable<TaskInput> | Iterable<TaskInput>,
  options: RolloutAllOptions,
): AsyncGenerator<Trajectory> {
  requireKnownOptions("call rolloutAll", options, ROLLOUT_ALL_OPTIONS);
  const { concurrency = 8, samples = 1, ordered, maxTurns, branch, signal } = options;
  const { onStart, onTrajectory, onEnd } = options;
  const tokens = options.tokens &&
    {
      ...options.tokens,
      format: options.tokens.format ??
        new TokenFormat(pickKnownOptions(options.tokens, TOKEN_FORMAT_OPTIONS)),
    };
  tokens?.format.requireWritable({ mode: tokens.mode ?? "append", onRewrite: tokens.onRewrite });
  if (maxTurns !== undefined) requireMaxTurns(maxTurns);
  requireSamples(samples);
  if (branch !== undefined) checkBranches(branch, options);
  if (tokens !== undefined) await requireTrainable(options.policy, { format: tokens.format, signal });
  const play = async (episode: Episode, signal: AbortSignal) => {
    onStart?.(episode);
    const played = branch === undefined
      ? await playEpisode(episode, { ...options, tokens, signal })
      : await playTree(episode, { ...options, branch, tokens, signal });
    for (const trajectory of played) await onTrajectory?.(trajectory);
    const [first, ...rest] = played;
    if (first !== undefined) onEnd?.([first, ...rest]);
    return played;
  };
  const trees = mapConcurrently(episodesOf(tasks, options), play, { concurrency, ordered, signal });
  for await (const tree of trees) yield* tree;
}

function checkBranches(
  branch: RolloutTreeOptions["branch"],
  { maxTurns = Infinity, resumed }: RolloutAllOptions,
): void {
  checkBranchPoints(branch, { maxTurns });
  if (resumed === undefined) return;
  throw new ArgumentTypeError("Cannot roll out as only one of 'branch' and 'resumed' may be given: both are");
}

type PlayOptions = RolloutAllOptions & { signal: AbortSignal };

/** Plays the episodes of a tree. */
async function playTree(
  episode: Episode,
  options: PlayOptions & Pick<RolloutTreeOptions, "branch">,
): Promise<Trajectory[]> {
  const { policy, branch } = options;
  return await playIn(episode, options, {
    play: (env, task, rest) =>
      rolloutTree(requireBranching(env), policy, task, { ...rest, branch, concurrency: 1 }),
  });
}

/**
 * Plays an episode, and the questions that the code asks, if the env lets code ask. A resumed episode is played from the
 * start if the env responds differently than before.
 */
async function playEpisode(episode: Episode, options: PlayOptions): Promise<Trajectory[]> {
  const resumed = options.resumed?.(episode);
  if (resumed === undefined) return await playFrom(episode, options);
  let differs = false;
  const policy = resumedPolicy(resumed, options.policy, { onDiffers: () => differs = true });
  const played = await playFrom(episode, { ...options, policy }, resumed);
  return differs ? await playFrom(episode, options) : played;
}

async function playFrom(
  episode: Episode,
  options: PlayOptions,
  resumed?: InteractionResult,
): Promise<Trajectory[]> {
  const { policy } = options;
  return await playIn(episode, options, {
    resumed,
    play: async (env, task, rest) =>
      isRecursiveEnv(env)
        ? await rolloutRecursive(env, policy, task, rest)
        : [await rollout(env, policy, task, rest)],
  });
}

/** Plays an episode in a new env. If the env cannot be made, the episode has that failure. */
async function playIn(
  { task, sample, seed }: Episode,
  options: PlayOptions,
  { resumed, play }: {
    resumed?: InteractionResult | undefined;
    play: (env: Env, task: Task, options: RolloutOptions) => Promise<Trajectory[]>;
  },
): Promise<Trajectory[]> {
  const { makeEnv, policy, envName, timeScale, maxTurns, cutScore, limits, tokens, onAborted, signal } =
    options;
  const named = { sample, seed, envName, timeScale };
  let played = [emptyTrajectory(task, { ...named, policy: policy.name })];
  try {
    await using env = await makeEnv(task, resumed);
    played = await play(env, task, { ...named, maxTurns, cutScore, limits, tokens, onAborted, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    played = played.map((trajectory, index) => index === 0 ? withFailure(trajectory, error) : trajectory);
  }
  return played;
}

/** Episode to be played. */
export interface Episode {
  readonly task: Task;
  /** Number of the episode among the task's episodes, from 1. */
  readonly sample: number;
  readonly seed?: number;
}

/** Options of {@linkcode episodesOf}. */
export interface EpisodesOptions {
  /**
   * Number of episodes of each task, adjacent to each other.
   *
   * @default 1
   */
  samples?: number | undefined;
  /** Base seed. Each episode gets a separate seed, derived from this seed, the task's id and the sample number. */
  seed?: number | undefined;
  /** Skips the episodes for which the function returns true. */
  skip?: ((task: Task, sample: number) => boolean) | undefined;
}

/**
 * Yields the episodes of tasks in order, episodes of a task adjacent.
 *
 * @throws {RangeError} if `samples` is not a whole number >= 1.
 */
export async function* episodesOf(
  tasks: AsyncIterable<TaskInput> | Iterable<TaskInput>,
  options: EpisodesOptions = {},
): AsyncGenerator<Episode> {
  const { samples = 1, seed, skip } = options;
  requireSamples(samples);
  for await (const input of tasks) {
    const task = toTask(input);
    for (let sample = 1; sample <= samples; sample++) {
      if (skip?.(task, sample)) continue;
      yield { task, sample, ...(seed !== undefined && { seed: episodeSeed(seed, `${task.id}\n${sample}`) }) };
    }
  }
}

/**
 * Checks the number of samples.
 *
 * @throws {RangeError} if the number is not a whole number >= 1.
 */
export function requireSamples(samples: number): void {
  if (Number.isInteger(samples) && samples >= 1) return;
  throw new RangeError(
    `Cannot roll out as 'samples' must be a whole number >= 1: current value is ${samples}`,
  );
}

/** Returns a 31-bit seed of an episode: FNV-1a over the base seed and the name. */
function episodeSeed(seed: number, name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${seed}\n${name}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 1;
}

/** Names of the options. */
export const ROLLOUT_ALL_OPTIONS: Readonly<Record<keyof RolloutAllOptions, true>> = {
  timeScale: true,
  makeEnv: true,
  policy: true,
  envName: true,
  resumed: true,
  branch: true,
  tokens: true,
  concurrency: true,
  ordered: true,
  maxTurns: true,
  cutScore: true,
  limits: true,
  onStart: true,
  onTrajectory: true,
  onEnd: true,
  onAborted: true,
  signal: true,
  samples: true,
  seed: true,
  skip: true,
};
