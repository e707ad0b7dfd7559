import type { Env } from "../envs/env.ts";
import type { Policy } from "../policy/policy.ts";
import type { Task } from "../task.ts";
import { type Episode, episodesOf, type EpisodesOptions, requireSamples } from "./episodes.ts";
import type { InteractionResult } from "./interaction_result.ts";
import { mapConcurrently } from "./map_concurrently.ts";
import { resumedPolicy } from "./resumed_policy.ts";
import { requireMaxTurns, rollout } from "./rollout.ts";
import type { TokenOptions } from "./tokens/episode_writer.ts";
import { TokenFormat } from "./tokens/token_format.ts";
import { emptyTrajectory, type Trajectory, withFailure } from "./trajectory.ts";

/** What {@linkcode rolloutAll} needs. */
export interface RolloutAllOptions extends EpisodesOptions {
  /**
   * Makes an episode's env, which is disposed when the episode is over. It is given what the episode goes on from:
   * whoever plays its user must say again what was said.
   */
  makeEnv: (task: Task, resumed?: InteractionResult) => Env | Promise<Env>;
  policy: Policy;
  /**
   * What was saved of an episode before its end: it is played again up to there, and goes on; from its start where its
   * env says something else than it did, as one that tells the time.
   */
  resumed?: ((episode: Episode) => InteractionResult | undefined) | undefined;
  /** Writes the tokens of each episode. */
  tokens?: TokenOptions | undefined;
  /** How many episodes may be going on at once. */
  concurrency?: number | undefined;
  /** Gives trajectories in the order of the tasks, not in that in which episodes end. */
  ordered?: boolean | undefined;
  /** Cuts off an episode that its env would let go on. */
  maxTurns?: number | undefined;
  /** Called the moment an episode is begun. */
  onStart?: ((episode: Episode) => void) | undefined;
  /**
   * Called the moment an episode is over, before its trajectory's turn comes, and waited for. When it fails, all
   * ends with its error.
   */
  onTrajectory?: ((trajectory: Trajectory) => void | Promise<void>) | undefined;
  /** Given what there is of an episode that was aborted. */
  onAborted?: ((trajectory: Trajectory) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Plays the episodes of each task, several at once, and gives their trajectories. Tasks are read only as fast as
 * they are played, so there may be any number.
 *
 * An episode that fails gives a trajectory that says so and disturbs no other. Rejects when it was aborted, or
 * with the error of the tasks once all episodes before it are given; either way nothing is left running.
 */
export async function* rolloutAll(
  tasks: AsyncIterable<Task> | Iterable<Task>,
  options: RolloutAllOptions,
): AsyncGenerator<Trajectory> {
  const { concurrency = 8, samples = 1, ordered, maxTurns, onStart, onTrajectory, signal } = options;
  const tokens = options.tokens && { format: new TokenFormat(options.tokens), ...options.tokens };
  if (maxTurns !== undefined) requireMaxTurns(maxTurns);
  requireSamples(samples);
  const play = async (episode: Episode, signal: AbortSignal) => {
    onStart?.(episode);
    const trajectory = await playEpisode(episode, { ...options, tokens, signal });
    await onTrajectory?.(trajectory);
    return trajectory;
  };
  yield* mapConcurrently(episodesOf(tasks, options), play, { concurrency, ordered, signal });
}

type Playing = RolloutAllOptions & { signal: AbortSignal };

/** Plays an episode, from its start where its env does not do again what it did. */
async function playEpisode(episode: Episode, options: Playing): Promise<Trajectory> {
  const resumed = options.resumed?.(episode);
  if (resumed === undefined) return await playFrom(episode, options);
  let differs = false;
  const policy = resumedPolicy(resumed, options.policy, { onDiffers: () => differs = true });
  const trajectory = await playFrom(episode, { ...options, policy }, resumed);
  return differs ? await playFrom(episode, options) : trajectory;
}

async function playFrom(
  { task, sample, seed }: Episode,
  { makeEnv, policy, maxTurns, tokens, onAborted, signal }: Playing,
  resumed?: InteractionResult,
): Promise<Trajectory> {
  let trajectory = emptyTrajectory(task, { sample, seed, policy: policy.name });
  try {
    await using env = await makeEnv(task, resumed);
    trajectory = await rollout(env, policy, task, { sample, seed, maxTurns, tokens, onAborted, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    trajectory = withFailure(trajectory, error);
  }
  return trajectory;
}
