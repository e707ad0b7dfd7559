import type { Action } from "../envs/action.ts";
import type { EnvResetOptions, Observation, Step } from "../envs/env.ts";
import type { EpisodeCheckpoint, EpisodeCheckpointOptions } from "../episode_checkpoint.ts";
import type { Task } from "../task.ts";
import type { SharedTools } from "../tools/code_mode/shared_tools.ts";

/** Second argument of a hook. */
export interface TransformContext {
  readonly task: Task;
  /** Observation that the policy acted on; missing at reset. */
  readonly observation?: Observation;
  /** Action that the env received; only in `step` hooks. */
  readonly action?: Action;
  /** Number of the current step, from 1; 0 at reset. */
  readonly turn: number;
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Tools that earlier transforms offer to code; in `reset` and `step` hooks. */
  readonly sharedTools?: SharedTools | undefined;
}

/**
 * A behaviour of an env, independent of all others. Each hook returns the input or a changed copy.
 *
 * `task` and `action` hooks run on the way to the env, last-appended first. `reset` and `step` hooks run on
 * the way back, first-appended first. Disposing the env disposes the transforms.
 */
export interface Transform extends Partial<AsyncDisposable> {
  /** Called before the env is reset, last-appended first. Returns the task of the episode. */
  task?(task: Task, options: EnvResetOptions): Task | Promise<Task>;
  reset?(observation: Observation, context: TransformContext): Observation | Promise<Observation>;
  action?(action: Action, context: TransformContext): Action | Promise<Action>;
  step?(step: Step, context: TransformContext): Step | Promise<Step>;
  /**
   * Called after all `step` hooks when a step has ended the episode. Resources of the episode can be
   * released here.
   */
  end?(step: Step, context: TransformContext): void | Promise<void>;
  /**
   * Returns what the transform keeps of the episode, for a checkpoint of the env. A transform that keeps nothing needs no
   * such method: copies of the env share the transform. A transform with resources that the env disposes needs this
   * method. The transforms of a copy of the env are made with the same object of options, by which transforms that belong
   * together find each other.
   *
   * @throws {CheckpointError} if the transform cannot be copied.
   */
  checkpoint?(
    options: EpisodeCheckpointOptions,
  ): EpisodeCheckpoint<Transform> | Promise<EpisodeCheckpoint<Transform>>;
}
