import { type Action, historyAfter, requireAction } from "../envs/action.ts";
import { type BranchingEnv, checkpointEnv, type EnvCheckpoint } from "../envs/branching_env.ts";
import {
  type Env,
  type EnvResetOptions,
  type Observation,
  type Step,
  type StepOptions,
  truncateEnv,
} from "../envs/env.ts";
import {
  type EpisodeCheckpoint,
  type EpisodeCheckpointOptions,
  type EpisodeForkOptions,
  forkEpisode,
  refuseCheckpoint,
  seedOfCopy,
} from "../episode_checkpoint.ts";
import { type Task, type TaskInput, toTask } from "../task.ts";
import { SharedTools } from "../tools/code_mode/shared_tools.ts";
import type { Transform, TransformContext } from "./transform.ts";

/**
 * An env with transforms.
 *
 * The object owns the transforms and the env: disposing the object disposes the transforms, last-appended first, then
 * the env.
 *
 * @example Continue an episode in copies
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, replyAction, StepCounter, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new StepCounter()]);
 * await env.reset({ id: "1", query: "Hello" });
 * await env.step(replyAction("Hi"));
 * const copies = await env.fork(2);
 * const steps = await Promise.all(copies.map((copy, index) => copy.step(replyAction(`${index}`))));
 * assertEquals(steps.map(({ stepCount, history }) => [stepCount, history.prompt.last?.content]), [[2, "0"], [2, "1"]]);
 * for (const copy of copies) await copy[Symbol.asyncDispose]();
 * ```
 */
export class TransformedEnv implements BranchingEnv {
  readonly #base: Env;
  readonly #transforms: Transform[];
  #observation: Observation | undefined;
  #seed: number | undefined;
  #turn = 0;
  /** Calls of reset and step that have not ended. */
  #running = 0;
  #disposal: Promise<void> | undefined;

  constructor(base: Env, transforms: Iterable<Transform> = []) {
    this.#base = base;
    this.#transforms = [...transforms];
  }

  /** Adds a transform: the last to see the env's output and the first to see the env's input. */
  append(transform: Transform): this {
    this.#transforms.push(transform);
    return this;
  }

  /**
   * Inserts a transform before the transform at `index`.
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

  async reset(task: TaskInput, options: EnvResetOptions = {}): Promise<Observation> {
    this.#refuseDisposed("reset");
    return await this.#run(() => this.#reset(toTask(task), options));
  }

  async step(action: Action, options: StepOptions = {}): Promise<Step> {
    this.#refuseDisposed("step");
    return await this.#run(() => this.#step(action, options));
  }

  /** Ends the episode as {@linkcode Env.truncate} does. Transforms see a skipped action, and may grade the step. */
  async truncate(observation: Observation, options: StepOptions = {}): Promise<Step> {
    this.#refuseDisposed("truncate");
    return await this.#run(() => this.#truncate(observation, options));
  }

  /** {@inheritDoc BranchingEnv.checkpoint} */
  async checkpoint(options: EpisodeCheckpointOptions = {}): Promise<EnvCheckpoint> {
    this.#refuseDisposed("checkpoint");
    if (this.#running > 0) refuseCheckpoint("no call of the env may be running: one is");
    return await this.#run(async () => {
      const [observation, seed, turn] = [this.#observation, this.#seed, this.#turn];
      const base = await checkpointEnv(this.#base, options);
      const states: EpisodeCheckpoint<Transform>[] = [];
      for (const transform of this.#transforms) states.push(await checkpointTransform(transform, options));
      return {
        copy: async (given) => {
          const options = { ...given }; // the same for the parts of this copy, and only for them
          await using stack = new AsyncDisposableStack();
          const copy = new TransformedEnv(stack.use(await base.copy(options)));
          for (const state of states) {
            const transform = await state.copy(options);
            stack.defer(() => transform[Symbol.asyncDispose]?.());
            copy.append(transform);
          }
          copy.#observation = observation;
          copy.#seed = seedOfCopy(seed, options);
          copy.#turn = turn;
          stack.move();
          return copy;
        },
      };
    });
  }

  /** {@inheritDoc BranchingEnv.fork} */
  async fork(count: number, options?: EpisodeForkOptions): Promise<BranchingEnv[]> {
    return await forkEpisode(count, () => this.checkpoint(options), options);
  }

  async #reset(task: Task, options: EnvResetOptions): Promise<Observation> {
    const { seed, signal } = options;
    this.#observation = undefined;
    this.#seed = seed;
    this.#turn = 0;
    for (const transform of this.#transforms.toReversed()) {
      task = await transform.task?.(task, options) ?? task;
    }
    const context: TransformContext = { task, turn: 0, seed, signal, sharedTools: new SharedTools() };
    let observation = await this.#base.reset(task, options);
    for (const transform of this.#transforms) {
      observation = await transform.reset?.(observation, context) ?? observation;
    }
    return this.#observation = observation;
  }

  async #step(action: Action, options: StepOptions): Promise<Step> {
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
      sharedTools: new SharedTools(),
    };
    for (const transform of this.#transforms.toReversed()) {
      action = await transform.action?.(action, context) ?? action;
    }
    const fullAction = action.skip ? action : completeAction(action, before);
    this.#observation = undefined;
    this.#turn++;
    let step = action.skip ? skippedStep(before) : await this.#base.step(fullAction, options);
    const stepContext: TransformContext = { ...context, action: fullAction };
    step = await this.#transformStep(step, stepContext);
    if (!step.terminated && !step.truncated) this.#observation = step;
    else await this.#end(step, stepContext);
    return step;
  }

  async #truncate({ history }: Observation, options: StepOptions): Promise<Step> {
    if (this.#observation === undefined) {
      throw new Error("Cannot truncate as no episode is running: reset the env first");
    }
    const before = { ...this.#observation, history };
    this.#observation = undefined;
    const context: TransformContext = {
      task: before.task,
      observation: before,
      action: { skip: true },
      turn: this.#turn,
      seed: this.#seed,
      signal: options.signal,
    };
    const step = await this.#transformStep(await truncateEnv(this.#base, before, options), context);
    await this.#end(step, context);
    return step;
  }

  async #transformStep(step: Step, context: TransformContext): Promise<Step> {
    for (const transform of this.#transforms) step = await transform.step?.(step, context) ?? step;
    return step;
  }

  async #end(step: Step, context: TransformContext): Promise<void> {
    for (const transform of this.#transforms) await transform.end?.(step, context);
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

  async #run<T>(work: () => Promise<T>): Promise<T> {
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
    }
  }

  #refuseDisposed(what: string): void {
    if (this.#disposal !== undefined) throw new Error(`Cannot ${what} as the env is disposed`);
  }
}

/** Makes a checkpoint of a transform. Copies of the env share a transform that keeps nothing of the episode. */
async function checkpointTransform(
  transform: Transform,
  options: EpisodeCheckpointOptions,
): Promise<EpisodeCheckpoint<Transform>> {
  if (transform.checkpoint !== undefined) return await transform.checkpoint(options);
  if (transform[Symbol.asyncDispose] === undefined) return { copy: () => transform };
  return refuseCheckpoint(
    `the transform '${transform.constructor.name}' has resources, but no method 'checkpoint'`,
  );
}

/**
 * Returns the action with the full history. Transforms may have changed the prompt since the env returned
 * the prompt.
 */
function completeAction(action: Action, { history }: Observation): Action {
  if (action.history === undefined) return action;
  return { ...action, history: { ...action.history, full: historyAfter(history.prompt, action) } };
}

/** Returns the step of a skipped action. */
function skippedStep(before: Observation): Step {
  return { ...before, reward: null, terminated: false, truncated: false, toolResults: [] };
}
