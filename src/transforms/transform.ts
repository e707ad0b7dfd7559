import type { Action, Observation, ResetOptions, Step } from "../envs/env.ts";
import type { Task } from "../task.ts";

/** What a hook is told beside what it transforms. */
export interface TransformContext {
  readonly task: Task;
  /** What the policy answered; nothing at reset. */
  readonly observation?: Observation;
  /** What the env was given, in a `step` hook. */
  readonly action?: Action;
  /** How many steps of the episode there are, this one counted; 0 at reset. */
  readonly turn: number;
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * One behaviour of an env, apart from all others. A hook gives what goes on, which may be what it got.
 *
 * `task` and `action` hooks run on the way to the env, last-appended first; `reset` and `step` hooks run on the way back,
 * first-appended first. One that holds something open is disposed with its env.
 */
export interface Transform extends Partial<AsyncDisposable> {
  /** Runs before the env is reset, last-appended first: the task that the episode plays. */
  task?(task: Task, options: ResetOptions): Task | Promise<Task>;
  reset?(observation: Observation, context: TransformContext): Observation | Promise<Observation>;
  action?(action: Action, context: TransformContext): Action | Promise<Action>;
  step?(step: Step, context: TransformContext): Step | Promise<Step>;
  /** Called when a step has ended the episode, behind all `step` hooks: what only it needed may be given back. */
  end?(step: Step, context: TransformContext): void | Promise<void>;
}
