import type { Env } from "../envs/env.ts";
import type { Policy } from "../policy/policy.ts";
import type { Task } from "../task.ts";
import { EpisodeRun } from "./episode_run.ts";
import { EpisodeWriter, type TokenOptions } from "./tokens/episode_writer.ts";
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
  /**
   * Writes the episode's tokens, and gives the policy its prompts as text and ids; without it the env does, if it
   * can. `interactionResult` then gives what a trainer reads.
   */
  tokens?: TokenOptions | undefined;
  /** Given what there is of an episode that was aborted. */
  onAborted?: ((trajectory: Trajectory) => void) | undefined;
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
  const { maxTurns = 64, tokens, onAborted, signal } = options;
  requireMaxTurns(maxTurns);
  const writer = tokens && new EpisodeWriter(tokens);
  const episode = new EpisodeRun(env, { policy, task, options, writer });
  try {
    await episode.play(maxTurns);
  } catch (error) {
    if (signal?.aborted) {
      onAborted?.(episode.trajectory());
      throw error;
    }
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
