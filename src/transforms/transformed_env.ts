import { type Action, historyAfter, requireAction } from "../envs/action.ts";
import type { Env, EnvResetOptions, Observation, Step, StepOptions } from "../envs/env.ts";
import type { Task } from "../task.ts";
import type { Transform, TransformContext } from "./transform.ts";

/**
 * An env with transforms.
 *
 * It owns the transforms and the env: disposing it disposes the transforms, last-appended first, then the
 * env.
 */
export class TransformedEnv implements Env {
  readonly #base: Env;
  readonly #transforms: Transform[];
  #observation: Observation | undefined;
  #seed: number | undefined;
  #turn = 0;
  #disposal: Promise<void> | undefined;

  constructor(base: Env, transforms: Iterable<Transform> = []) {
    this.#base = base;
    this.#transforms = [...transforms];
  }

  /** Adds a transform. It is the last to see the env's output and the first to see its input. */
  append(transform: Transform): this {
    this.#transforms.push(transform);
    return this;
  }

  /**
   * Inserts a transform before the one at `index`.
   *
   * @throws {RangeError} when `index` is out of range.
   */
  insert(index: number, transform: Transform): this {
    if (!Number.isInteger(index) || index < 0 || index > this.#transforms.length) {
      throw new RangeError(
        `Cannot insert transform as 'index' must be from 0 to ${this.#transforms.length}: current value is ${index}`,
      );
    }
    this.#transforms.splice(index, 0, transform);
    return this;
  }

  async reset(task: Task, options: EnvResetOptions = {}): Promise<Observation> {
    this.#refuseDisposed("reset");
    const { seed, signal } = options;
    this.#observation = undefined;
    this.#seed = seed;
    this.#turn = 0;
    for (const transform of this.#transforms.toReversed()) {
      task = await transform.task?.(task, options) ?? task;
    }
    const context: TransformContext = { task, turn: 0, seed, signal };
    let observation = await this.#base.reset(task, options);
    for (const transform of this.#transforms) {
      observation = await transform.reset?.(observation, context) ?? observation;
    }
    return this.#observation = observation;
  }

  async step(action: Action, options: StepOptions = {}): Promise<Step> {
    this.#refuseDisposed("step");
    if (this.#observation === undefined) {
      throw new Error("Cannot step as no episode is running: reset the env first");
    }
    requireAction(action);
    const before = this.#observation;
    const context: TransformContext = {
      task: before.task,
      observation: before,
      turn: this.#turn + 1,
      seed: this.#seed,
      signal: options.signal,
    };
    for (const transform of this.#transforms.toReversed()) {
      action = await transform.action?.(action, context) ?? action;
    }
    const fullAction = action.skip ? action : completeAction(action, before);
    this.#observation = undefined;
    this.#turn++;
    let step = action.skip ? skippedStep(before) : await this.#base.step(fullAction, options);
    const stepContext: TransformContext = { ...context, action: fullAction };
    for (const transform of this.#transforms) step = await transform.step?.(step, stepContext) ?? step;
    if (!step.terminated && !step.truncated) this.#observation = step;
    else for (const transform of this.#transforms) await transform.end?.(step, stepContext);
    return step;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposal ??= this.#dispose();
  }

  async #dispose(): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.use(this.#base);
    for (const transform of this.#transforms) {
      stack.defer(() => transform[Symbol.asyncDispose]?.());
    }
  }

  #refuseDisposed(what: string): void {
    if (this.#disposal !== undefined) throw new Error(`Cannot ${what} as the env is disposed`);
  }
}

/**
 * Returns the action with the full history. Transforms may have changed the prompt since the env returned
 * it.
 */
function completeAction(action: Action, { history }: Observation): Action {
  if (action.history === undefined) return action;
  return { ...action, history: { ...action.history, full: historyAfter(history.prompt, action) } };
}

/** Returns the step of a skipped action. */
function skippedStep(before: Observation): Step {
  return { ...before, reward: null, terminated: false, truncated: false, toolResults: [] };
}
