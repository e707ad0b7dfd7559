import type { TaskSource } from "../datasets/task_source.ts";
import { type BatchShape, batchShape, requireSize, sizeOf } from "./batch_shape.ts";
import { type BatchTasks, taskTaker } from "./batch_tasks.ts";
import type { Action, Env, Observation, ResetOptions, StepOptions } from "./env.ts";
import { VectorElement } from "./vector_element.ts";
import type { ResetOutcome, StepOutcome } from "./vector_outcome.ts";

/** What a {@linkcode VectorEnv} is made of. */
export interface VectorEnvOptions {
  /** Makes the env of an element, the first time that it is reset; it is disposed with the batch. */
  makeEnv: (index: number) => Env | Promise<Env>;
  /** How many elements there are, or the length of each axis of a batch that has several; one unless given. */
  batchSize?: number | readonly number[] | null | undefined;
}

/** Which elements a call is for. */
export interface MaskOptions {
  /** One value for each element; all of them unless given. */
  mask?: readonly boolean[] | undefined;
}

/** What a batch's step may be given. */
export interface VectorStepOptions extends StepOptions, MaskOptions {}

/** What a batch's reset may be given. */
export interface VectorResetOptions extends ResetOptions, MaskOptions {}

/** What a step that resets may be given. */
export interface StepAndMaybeResetOptions extends VectorStepOptions {
  /** What the elements whose episode ended are asked next. */
  tasks: BatchTasks | TaskSource;
}

/** What came of a step that resets. */
export interface SteppedAndReset {
  /** What {@linkcode VectorEnv.step} gives. */
  readonly steps: readonly (StepOutcome | null)[];
  /** Where each element stands: at its step, or at the start of its next episode. */
  readonly next: readonly ResetOutcome[];
}

/**
 * Many envs that are reset and stepped at once, in parallel. What goes in and comes out is a list in the order of
 * the elements; those of a batch with several axes follow one another as its last axis counts fastest.
 *
 * An element that fails says so in its outcome and disturbs no other. A call rejects only when it is aborted, or
 * with a `TypeError` or `RangeError` before anything starts.
 */
export class VectorEnv implements AsyncDisposable {
  /** The length of each axis. */
  readonly batchSize: BatchShape;
  /** How many elements there are. */
  readonly size: number;
  readonly #elements: readonly VectorElement[];
  #disposal: Promise<void> | undefined;

  /** @throws {RangeError} when the batch has no axis, or one without elements. */
  constructor(options: VectorEnvOptions) {
    const { makeEnv, batchSize } = options;
    this.batchSize = batchShape(batchSize, new.target.name);
    this.size = sizeOf(this.batchSize);
    this.#elements = Array.from({ length: this.size }, (_, index) => new VectorElement(index, makeEnv));
  }

  /** What each element's policy is to answer; `null` where no episode is going on. */
  get observations(): readonly (Observation | null)[] {
    return this.#elements.map(({ observation }) => observation);
  }

  /**
   * Starts an episode in each element of the mask, and gives where every element stands; the others keep their
   * episodes as they are. A source gives one task for each element that is reset.
   *
   * @throws {TypeError} when there are no tasks.
   * @throws {RangeError} when the tasks, or the mask, are not as many as the elements.
   */
  async reset(tasks: BatchTasks | TaskSource, options: VectorResetOptions = {}): Promise<ResetOutcome[]> {
    this.#refuseDisposed("reset");
    const { seed, signal } = options;
    const take = taskTaker(tasks, this.batchSize, signal);
    await this.#each(options, (element, index) => element.reset(() => take(index), { seed, signal }));
    return this.#elements.map(({ stand }) => stand);
  }

  /**
   * Steps each element of the mask that is given an action; the outcome of the others is `null`.
   *
   * @throws {RangeError} when the actions, or the mask, are not as many as the elements.
   */
  async step(
    actions: readonly (Action | null)[],
    options: VectorStepOptions = {},
  ): Promise<(StepOutcome | null)[]> {
    this.#refuseDisposed("step");
    requireSize(actions, { shape: this.batchSize, what: "actions" });
    const { signal } = options;
    return await this.#each(options, (element, index) => {
      const action = actions[index];
      return action ? element.step(action, { signal }) : Promise.resolve(null);
    });
  }

  /**
   * Steps, and starts the next episode where one ended, by its own end or by a failure, in the elements of the
   * mask. One that could not be started is tried again with the next task at the next call, whatever its action.
   */
  async stepAndMaybeReset(
    actions: readonly (Action | null)[],
    options: StepAndMaybeResetOptions,
  ): Promise<SteppedAndReset> {
    const { tasks, signal } = options;
    taskTaker(tasks, this.batchSize, signal); // refuses what it cannot use before anything starts
    const steps = await this.step(actions, options);
    const mask = this.#elements.map((element, index) => {
      const stopped = steps[index] !== null || element.stand.error !== undefined;
      return (options.mask?.[index] ?? true) && element.observation === null && stopped;
    });
    return { steps, next: await this.reset(tasks, { mask, signal }) };
  }

  /** Disposes every env at once. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposal ??= this.#dispose();
  }

  async #dispose(): Promise<void> {
    const ends = await Promise.allSettled(this.#elements.map((element) => element[Symbol.asyncDispose]()));
    throwFirst(ends);
  }

  /** Runs over the elements of the mask, and waits for all of them even when it is aborted. */
  async #each<Out>(
    { mask, signal }: VectorStepOptions,
    run: (element: VectorElement, index: number) => Promise<Out>,
  ): Promise<(Out | null)[]> {
    if (mask !== undefined) requireSize(mask, { shape: this.batchSize, what: "mask" });
    signal?.throwIfAborted();
    const runs = this.#elements.map((element, index) => mask?.[index] ?? true ? run(element, index) : null);
    const ends = await Promise.allSettled(runs);
    throwFirst(ends);
    return ends.map((end) => end.status === "fulfilled" ? end.value : null);
  }

  #refuseDisposed(what: string): void {
    if (this.#disposal !== undefined) throw new Error(`Cannot ${what} as the env is disposed`);
  }
}

function throwFirst(ends: readonly PromiseSettledResult<unknown>[]): void {
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
