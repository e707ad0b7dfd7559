import { crossBoundary } from "../boundary.ts";
import { type Action, type Env, replyAction, type Step } from "../envs/env.ts";
import { PolicyError } from "../errors.ts";
import type { History } from "../history.ts";
import type { Policy } from "../policy/policy.ts";
import { type OpenTask, type Task, withoutAnswer } from "../task.ts";
import { emptyTrajectory, execRecord, type Trajectory, withFailure } from "./trajectory.ts";

/** How {@linkcode rollout} plays. */
export interface RolloutOptions {
  /** Goes to the env's reset. */
  seed?: number | undefined;
  /**
   * Cuts off an episode that its env would let go on. A graded env needs a `turnLimit` below it, for what is
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
  #played: Pick<Trajectory, "reward" | "turns" | "terminated" | "truncated" | "execs">;

  constructor(env: Env, policy: Policy, task: Task) {
    this.#env = env;
    this.#policy = policy;
    this.#task = task;
    this.#played = emptyTrajectory(task.id);
  }

  async play(options: RolloutOptions & { maxTurns: number }): Promise<void> {
    const { seed, signal, maxTurns } = options;
    const task = withoutAnswer(this.#task);
    const { history } = await this.#inEnv(() => this.#env.reset(this.#task, { seed, signal }));
    let { prompt } = history;
    this.#history = prompt;
    while (!this.#played.terminated && !this.#played.truncated) {
      signal?.throwIfAborted();
      const action = await this.#reply(prompt, task, signal);
      this.#history = prompt.extend(action.history.response ?? []);
      const step = await this.#inEnv(() => this.#env.step(action, { signal }));
      ({ prompt } = step.history);
      this.#history = prompt;
      this.#record(step, maxTurns);
    }
  }

  trajectory(): Trajectory {
    return {
      ...emptyTrajectory(this.#task.id),
      ...this.#played,
      messages: this.#history?.toChats() ?? [],
      times: { totalMs: performance.now() - this.#startMs, policyMs: this.#policyMs, envMs: this.#envMs },
    };
  }

  async #reply(prompt: History, task: OpenTask, signal: AbortSignal | undefined): Promise<Action> {
    const start = performance.now();
    try {
      return await crossBoundary(
        async () => replyAction(await this.#policy.reply(prompt, { task, signal })),
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
    const { reward, execs } = this.#played;
    const turns = this.#played.turns + 1;
    const { terminated } = step;
    this.#played = {
      turns,
      terminated,
      truncated: step.truncated || (!terminated && turns >= maxTurns),
      reward: step.reward === null ? reward : (reward ?? 0) + step.reward,
      execs: [...execs, ...step.toolResults.map((result) => execRecord(turns, result))],
    };
  }
}
