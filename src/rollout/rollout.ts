import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import type { Env } from "../envs/env.ts";
import type { Policy } from "../policy/policy.ts";
import { type TaskInput, toTask } from "../task.ts";
import { type EpisodeLimits, EpisodeRun } from "./episode/episode_run.ts";
import type { CutScore } from "./episode/episode_score.ts";
import { EpisodeWriter, type TokenOptions } from "./tokens/episode_writer.ts";
import { requireTrainable } from "./tokens/require_trainable.ts";
import { TOKEN_FORMAT_OPTIONS, TokenFormat } from "./tokens/token_format.ts";
import { type Trajectory, withFailure } from "./trajectory.ts";

/** Options of {@linkcode rollout}. */
export interface RolloutOptions {
  /** Seed for the env's reset and the policy. */
  seed?: number | undefined;
  /**
   * Number of the episode among the task's episodes, from 1. The trajectory records the number.
   *
   * @default 1
   */
  sample?: number | undefined;
  /** Name of the env, such as `python`. The trajectory records the name. */
  envName?: string | undefined;
  /** Factor of the limits of time of programs: `timeScale` of the profile. The trajectory records the factor. */
  timeScale?: number | undefined;
  /**
   * Maximum number of turns, after which the episode is truncated. An episode that is truncated here is not graded;
   * for grading, add a `StepCounter` with a lower limit to the env.
   *
   * @default 64
   */
  maxTurns?: number | undefined;
  /**
   * Score of an episode that a limit of tokens cut off: at the maximum length of the last reply, or because the next
   * prompt exceeds the context of the model. With `none` the reward is `null`.
   *
   * @default "grade"
   */
  cutScore?: CutScore | undefined;
  /** Limits of the whole episode. @default none */
  limits?: EpisodeLimits | undefined;
  /**
   * Writes the episode's tokens, and gives the policy prompts as text and ids. By default, the env's own tokens
   * are used, if any. `toInteractionResult` converts the trajectory for a trainer.
   */
  tokens?: TokenOptions | undefined;
  /** Called with the partial trajectory of an aborted episode. */
  onAborted?: ((trajectory: Trajectory) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Plays an episode to the end and returns the trajectory. Resets the env first, and does not dispose the env.
 *
 * Failures are recorded on the trajectory. The promise rejects only on an abort, or before anything starts: with a
 * `RangeError`, or, if tokens are recorded, with a `TypeError` if the policy's server returns no token ids.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, EndOnFinalReply, GradeEpisode, numberMatch } from "@paddock/paddock";
 * import { rollout, scriptedPolicy, TransformedEnv } from "@paddock/paddock";
 *
 * const transforms = [new EndOnFinalReply(), new GradeEpisode({ grader: numberMatch() })];
 * await using env = new TransformedEnv(new ChatEnv(), transforms);
 * const policy = scriptedPolicy({ replies: () => ["The answer is 4."] });
 * const { reward } = await rollout(env, policy, { id: "sum", query: "What is 2 + 2?", answer: "4" });
 * assertEquals(reward, 1);
 * ```
 */
export async function rollout(
  env: Env,
  policy: Policy,
  task: TaskInput,
  options: RolloutOptions = {},
): Promise<Trajectory> {
  requireKnownOptions("call rollout", options, ROLLOUT_OPTIONS);
  const { maxTurns = 64, tokens, onAborted, signal } = options;
  requireMaxTurns(maxTurns);
  const format = tokens && (tokens.format ?? new TokenFormat(pickKnownOptions(tokens, TOKEN_FORMAT_OPTIONS)));
  const writer = tokens && new EpisodeWriter({ ...tokens, format });
  if (format !== undefined) await requireTrainable(policy, { format, signal });
  const episode = new EpisodeRun(env, { policy, task: toTask(task), options, writer });
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
 * Checks the maximum number of turns.
 *
 * @throws {RangeError} if the number is below 1.
 */
export function requireMaxTurns(maxTurns: number): void {
  if (maxTurns >= 1) return;
  throw new RangeError(`Cannot roll out as 'maxTurns' must be >= 1: current value is ${maxTurns}`);
}

/** Names of the options of {@linkcode rollout}. */
export const ROLLOUT_OPTIONS: Readonly<Record<keyof RolloutOptions, true>> = {
  timeScale: true,
  seed: true,
  sample: true,
  envName: true,
  maxTurns: true,
  cutScore: true,
  limits: true,
  tokens: true,
  onAborted: true,
  signal: true,
};
