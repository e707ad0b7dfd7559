import { crossBoundary } from "../boundary.ts";
import type { Action, Env, Observation, Step } from "../envs/env.ts";
import { PolicyError } from "../errors.ts";
import { History } from "../history.ts";
import { type Policy, type Reply, wholeReply } from "../policy/policy.ts";
import { type OpenTask, type Task, withoutAnswer } from "../task.ts";
import { emptyTrajectory, toolRecord, type Trajectory, withFailure } from "./trajectory.ts";

/** How {@linkcode rollout} plays. */
export interface RolloutOptions {
  /** Goes to the env's reset. */
  seed?: number | undefined;
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
  const episode = new Episode(env, policy, task);
  try {
    await episode.play({ ...options, maxTurns });
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

class Episode {
  readonly #env: Env;
  readonly #policy: Policy;
  readonly #task: Task;
  readonly #startMs = performance.now();
  #policyMs = 0;
  #envMs = 0;
  #history: History | undefined;
  #played: Partial<Trajectory> & Pick<Trajectory, "reward" | "turns" | "toolResults">;

  constructor(env: Env, policy: Policy, task: Task) {
    this.#env = env;
    this.#policy = policy;
    this.#task = task;
    this.#played = emptyTrajectory(task);
  }

  async play(options: RolloutOptions & { maxTurns: number }): Promise<void> {
    const { seed, signal, maxTurns } = options;
    const task = withoutAnswer(this.#task);
    let observation = await this.#inEnv(() => this.#env.reset(this.#task, { seed, signal }));
    this.#history = observation.history.prompt;
    while (!this.#played.terminated && !this.#played.truncated) {
      signal?.throwIfAborted();
      const action = await this.#reply(observation, task, signal);
      this.#history = observation.history.prompt.extend(action.history?.response ?? []);
      const step = await this.#inEnv(() => this.#env.step(action, { signal }));
      observation = step;
      this.#history = step.history.prompt;
      this.#record(step, maxTurns);
    }
  }

  trajectory(): Trajectory {
    return {
      ...emptyTrajectory(this.#task),
      ...this.#played,
      messages: this.#history?.toChats() ?? [],
      times: { totalMs: performance.now() - this.#startMs, policyMs: this.#policyMs, envMs: this.#envMs },
    };
  }

  async #reply(
    { history, tools, text, tokens }: Observation,
    task: OpenTask,
    signal: AbortSignal | undefined,
  ): Promise<Action> {
    const context = { task, tools, text: text?.prompt, tokens: tokens?.prompt, signal };
    const start = performance.now();
    try {
      return await crossBoundary(
        async () => actionOf(wholeReply(await this.#policy.reply(history.prompt, context))),
        { error: PolicyError, failure: "Cannot get reply", signal },
      );
    } finally {
      this.#policyMs += performance.now() - start;
    }
  }

  async #inEnv<T>(run: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await run();
    } finally {
      this.#envMs += performance.now() - start;
    }
  }

  #record(step: Step, maxTurns: number): void {
    const { reward, toolResults, rewardParts } = this.#played;
    const turns = this.#played.turns + 1;
    const { terminated, policyVersion } = step;
    this.#played = {
      turns,
      terminated,
      truncated: step.truncated || (!terminated && turns >= maxTurns),
      reward: step.reward === null ? reward : (reward ?? 0) + step.reward,
      ...(rewardParts && { rewardParts }),
      ...(step.rewardParts && { rewardParts: { ...rewardParts, ...step.rewardParts } }),
      ...(policyVersion !== undefined && { policyVersion }),
      toolResults: [...toolResults, ...step.toolResults.map((result) => toolRecord(turns, result))],
    };
  }
}

/** What an env is given of a reply. */
function actionOf({ message, tokens }: Reply): Action {
  const history = { response: History.fromChats([message]) };
  if (tokens === undefined) return { history };
  const { ids, logProbs } = tokens;
  return { history, tokens: { response: ids, ...(logProbs && { logProbs }) } };
}
