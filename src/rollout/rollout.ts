import type { Env } from "../envs/env.ts";
import type { Policy } from "../policy/policy.ts";
import type { Task } from "../task.ts";
import { EpisodeRun } from "./episode_run.ts";
import { type Trajectory, withFailure } from "./trajectory.ts";

/** How {@linkcode rollout} plays. */
export interface RolloutOptions {
  /** Goes to the env's reset and to the policy. */
  seed?: number | undefined;
  /** Which of the task's episodes it is, from 1; it is written down. */
  sample?: number | undefined;
  /**
   * Cuts off an episode that its env would let go on. A graded env needs a `StepCounter` below it, for what is
   * cut off here is not graded.
   */
  maxTurns?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Plays one episode to its end. The env is reset first, and stays the caller's.
 *
 * What fails on the way is written on the trajectory; it rejects only when it was aborted, or with a
 * `RangeError` before anything starts.
 */
export async function rollout(
  env: Env,
  policy: Policy,
  task: Task,
  options: RolloutOptions = {},
): Promise<Trajectory> {
  const { maxTurns = 64, signal } = options;
  requireMaxTurns(maxTurns);
  const episode = new EpisodeRun(env, { policy, task, options });
  try {
    await episode.play(maxTurns);
  } catch (error) {
    if (signal?.aborted) throw error;
    return withFailure(episode.trajectory(), error);
  }
  return episode.trajectory();
}

/**
 * Refuses a limit that no episode can keep.
 *
 * @throws {RangeError} when it is not at least 1.
 */
export function requireMaxTurns(maxTurns: number): void {
  if (maxTurns >= 1) return;
  throw new RangeError(`Cannot roll out as 'maxTurns' must be >= 1: current value is ${maxTurns}`);
}
