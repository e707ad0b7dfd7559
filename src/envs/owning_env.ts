import {
  type EpisodeCheckpointOptions,
  type EpisodeForkOptions,
  forkEpisode,
  refuseCheckpoint,
} from "../episode_checkpoint.ts";
import type { Task } from "../task.ts";
import type { Action } from "./action.ts";
import { type BranchingEnv, checkpointEnv, type EnvCheckpoint } from "./branching_env.ts";
import {
  type Env,
  type EnvResetOptions,
  type Observation,
  type Step,
  type StepOptions,
  truncateEnv,
} from "./env.ts";

/** Env that also disposes a resource that was opened for it, after the env itself and all of its copies. */
export class OwningEnv implements BranchingEnv {
  readonly #env: Env;
  readonly #owned: SharedResource;
  #disposal: Promise<void> | undefined;

  constructor(env: Env, owned: AsyncDisposable) {
    this.#env = env;
    this.#owned = owned instanceof SharedResource ? owned : new SharedResource(owned);
    this.#owned.users++;
  }

  /** {@inheritDoc Env.reset} */
  reset(task: Task, options?: EnvResetOptions): Promise<Observation> {
    return this.#env.reset(task, options);
  }

  /** {@inheritDoc Env.step} */
  step(action: Action, options?: StepOptions): Promise<Step> {
    return this.#env.step(action, options);
  }

  /** {@inheritDoc Env.truncate} */
  truncate(observation: Observation, options?: StepOptions): Promise<Step> {
    return truncateEnv(this.#env, observation, options);
  }

  /** {@inheritDoc BranchingEnv.checkpoint} */
  async checkpoint(options?: EpisodeCheckpointOptions): Promise<EnvCheckpoint> {
    const state = await checkpointEnv(this.#env, options);
    return {
      copy: async (options) => {
        if (this.#owned.users > 0) return new OwningEnv(await state.copy(options), this.#owned);
        return refuseCheckpoint("the env, or one of its copies, must be open: all are disposed");
      },
    };
  }

  /** {@inheritDoc BranchingEnv.fork} */
  async fork(count: number, options?: EpisodeForkOptions): Promise<BranchingEnv[]> {
    return await forkEpisode(count, () => this.checkpoint(options), options);
  }

  /** Disposes the env, then the resource if no copy uses it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposal ??= this.#dispose();
  }

  async #dispose(): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.use(this.#owned);
    stack.use(this.#env);
  }
}

/** Resource of several envs. The last one that disposes it ends it. */
class SharedResource implements AsyncDisposable {
  readonly #resource: AsyncDisposable;
  users = 0;

  constructor(resource: AsyncDisposable) {
    this.#resource = resource;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (--this.users === 0) await this.#resource[Symbol.asyncDispose]();
  }
}
