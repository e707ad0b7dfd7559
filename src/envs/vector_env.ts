import { requireKnownOptions } from "../options.ts";
import type { TaskSource } from "../datasets/data_loading_primer.ts";
import { type EpisodeFailure, toEpisodeFailure } from "../errors.ts";
import { deriveSeed } from "../seeded_random.ts";
import type { Task } from "../task.ts";
import {
  type BatchShape,
  type BatchTasks,
  createTaskGetter,
  requireSize,
  sizeOf,
  toBatchShape,
} from "./batch.ts";
import { type Action, requireAction } from "./action.ts";
import type { Env, EnvResetOptions, Observation, Step, StepOptions } from "./env.ts";

/** Options of {@linkcode VectorEnv}. */
export interface VectorEnvOptions {
  /** Makes the env of an element at its first reset. The batch disposes the env. */
  makeEnv: (index: number) => Env | Promise<Env>;
  /**
   * Number of elements, or the length of each axis of the batch.
   *
   * @default 1
   */
  batchSize?: number | readonly number[] | null | undefined;
}

/** Selection of the elements that a call applies to. */
export interface MaskOptions {
  /**
   * A value for each element.
   *
   * @default all elements
   */
  mask?: readonly boolean[] | undefined;
}

/** Options of {@linkcode VectorEnv.step}. */
export interface VectorStepOptions extends StepOptions, MaskOptions {}

/** Options of {@linkcode VectorEnv.reset}. */
export interface VectorResetOptions extends EnvResetOptions, MaskOptions {}

/** Options of {@linkcode VectorEnv.stepAndMaybeReset}. */
export interface StepAndMaybeResetOptions extends VectorStepOptions {
  /** Next tasks for the elements whose episode has ended. */
  tasks: BatchTasks | TaskSource;
}

/** Result of {@linkcode VectorEnv.stepAndMaybeReset}. */
export interface StepAndMaybeResetResult {
  /** Result of {@linkcode VectorEnv.step}. */
  readonly steps: readonly (StepOutcome | null)[];
  /** State of each element: after the step, or at the start of the next episode. */
  readonly next: readonly ResetOutcome[];
}

/**
 * Resets and steps many envs in parallel. Inputs and outputs are lists in the order of the elements; in a batch with
 * several axes the last axis varies fastest.
 *
 * A failing element reports the failure in its outcome and does not affect the others. A call rejects only if it
 * is aborted, or with a `TypeError` or `RangeError` before anything starts.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, replyAction, VectorEnv } from "@paddock/paddock";
 *
 * await using env = new VectorEnv({ makeEnv: () => new ChatEnv(), batchSize: 2 });
 * await env.reset(["What is 2 + 2?", "What is 3 + 3?"]);
 * const [first, second] = await env.step([replyAction("4"), null]);
 * assertEquals(first?.step?.history.prompt.length, 2);
 * assertEquals(second, null);
 * ```
 */
export class VectorEnv implements AsyncDisposable {
  /** Length of each axis. */
  readonly batchSize: BatchShape;
  /** Number of elements. */
  readonly size: number;
  readonly #elements: readonly VectorElement[];
  #disposal: Promise<void> | undefined;

  /** @throws {RangeError} if the batch has no axis, or an axis has no elements. */
  constructor(options: VectorEnvOptions) {
    requireKnownOptions("create VectorEnv", options, { makeEnv: true, batchSize: true });
    const { makeEnv, batchSize } = options;
    this.batchSize = toBatchShape(batchSize, new.target.name);
    this.size = sizeOf(this.batchSize);
    this.#elements = Array.from({ length: this.size }, (_, index) => new VectorElement(index, makeEnv));
  }

  /** Current observation of each element; `null` if no episode is running. */
  get observations(): readonly (Observation | null)[] {
    return this.#elements.map(({ observation }) => observation);
  }

  /**
   * Starts an episode in each element of the mask and returns the state of every element. The others keep their
   * episodes. If `tasks` is a source, the source gives a task for each element that is reset.
   *
   * @throws {TypeError} if `tasks` is null or undefined.
   * @throws {RangeError} if the number of tasks or of mask values is not the number of elements.
   */
  async reset(tasks: BatchTasks | TaskSource, options: VectorResetOptions = {}): Promise<ResetOutcome[]> {
    this.#throwIfDisposed("reset");
    const { seed, signal } = options;
    const take = createTaskGetter(tasks, this.batchSize, signal);
    await this.#each(options, (element, index) => element.reset(() => take(index), { seed, signal }));
    return this.#elements.map(({ outcome: stand }) => stand);
  }

  /**
   * Steps each element of the mask that has an action; the outcome of the others is `null`.
   *
   * @throws {TypeError} if an action is not an action; the message has the index of the element.
   * @throws {RangeError} if the number of actions or of mask values is not the number of elements.
   */
  async step(
    actions: readonly (Action | null)[],
    options: VectorStepOptions = {},
  ): Promise<(StepOutcome | null)[]> {
    this.#throwIfDisposed("step");
    requireSize(actions, { shape: this.batchSize, name: "actions" });
    for (const [index, action] of actions.entries()) {
      if (!isMissing(action)) requireAction(action, `Cannot step element ${index}`);
    }
    const { signal } = options;
    return await this.#each(options, (element, index) => {
      const action = actions[index];
      return !isMissing(action) ? element.step(action, { signal }) : Promise.resolve(null);
    });
  }

  /**
   * Steps the elements of the mask, and starts the next episode where an episode has ended or failed.
   *
   * If an episode cannot be started, the next call tries again with the next task, whatever the action is.
   */
  async stepAndMaybeReset(
    actions: readonly (Action | null)[],
    options: StepAndMaybeResetOptions,
  ): Promise<StepAndMaybeResetResult> {
    const { tasks, signal } = options;
    createTaskGetter(tasks, this.batchSize, signal); // throws on invalid tasks before anything starts
    const steps = await this.step(actions, options);
    const mask = this.#elements.map((element, index) => {
      const hasEnded = steps[index] !== null || element.outcome.error !== undefined;
      return (options.mask?.[index] ?? true) && element.observation === null && hasEnded;
    });
    return { steps, next: await this.reset(tasks, { mask, signal }) };
  }

  /** Disposes all envs in parallel. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposal ??= this.#dispose();
  }

  async #dispose(): Promise<void> {
    const results = await Promise.allSettled(this.#elements.map((element) => element[Symbol.asyncDispose]()));
    throwFirst(results);
  }

  /** Runs a function on the elements of the mask, and waits for all of them even when aborted. */
  async #each<Out>(
    { mask, signal }: VectorStepOptions,
    run: (element: VectorElement, index: number) => Promise<Out>,
  ): Promise<(Out | null)[]> {
    if (mask !== undefined) requireSize(mask, { shape: this.batchSize, name: "mask" });
    signal?.throwIfAborted();
    const runs = this.#elements.map((element, index) => mask?.[index] ?? true ? run(element, index) : null);
    const results = await Promise.allSettled(runs);
    throwFirst(results);
    return results.map((result) => result.status === "fulfilled" ? result.value : null);
  }

  #throwIfDisposed(action: string): void {
    if (this.#disposal !== undefined) throw new Error(`Cannot ${action} as the env is disposed`);
  }
}

function isMissing(action: Action | null | undefined): action is null | undefined {
  return action === null || action === undefined;
}

function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** An element of a batch: the env and the state of the episode. Failures are data; an abort rejects. */
class VectorElement implements AsyncDisposable {
  readonly #index: number;
  readonly #makeEnv: (index: number) => Env | Promise<Env>;
  #making: Promise<Env> | undefined;
  #outcome: ResetOutcome;
  #isRunning = false;
  #seed: number | undefined;
  #episode = 0;
  #disposal: Promise<void> | undefined;

  constructor(index: number, makeEnv: (index: number) => Env | Promise<Env>) {
    this.#index = index;
    this.#makeEnv = makeEnv;
    this.#outcome = { error: this.#notRunning("observe") };
  }

  /** Current observation; `null` if no episode is running. */
  get observation(): Observation | null {
    return this.#isRunning ? this.#outcome.observation ?? null : null;
  }

  /** Outcome of the last reset or step: the observation, or the failure. */
  get outcome(): ResetOutcome {
    return this.#outcome;
  }

  /** Starts an episode. The seed is derived from the last given seed, the element's index and the episode's number. */
  async reset(takeTask: () => Task | Promise<Task>, options: EnvResetOptions): Promise<ResetOutcome> {
    const { signal } = options;
    const seed = this.#nextSeed(options.seed);
    this.#isRunning = false;
    try {
      const task = await takeTask();
      const observation = await (await this.#env()).reset(task, { seed, signal });
      this.#isRunning = true;
      return this.#outcome = { observation };
    } catch (error) {
      return this.#fail(error, signal);
    }
  }

  /** Steps the current episode. */
  async step(action: Action, options: StepOptions): Promise<StepOutcome> {
    if (!this.#isRunning) return { error: this.#notRunning("step") };
    this.#isRunning = false;
    try {
      const step = await (await this.#env()).step(action, options);
      this.#isRunning = !step.terminated && !step.truncated;
      this.#outcome = { observation: step };
      return { step };
    } catch (error) {
      return this.#fail(error, options.signal);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposal ??= this.#dispose();
  }

  async #dispose(): Promise<void> {
    this.#isRunning = false;
    const env = await this.#making?.catch(() => undefined); // reset() has already reported this error
    await env?.[Symbol.asyncDispose]();
  }

  async #env(): Promise<Env> {
    if (this.#disposal !== undefined) throw new Error("Cannot make env as its batch is disposed");
    try {
      this.#making ??= Promise.resolve(this.#makeEnv(this.#index));
      return await this.#making;
    } catch (error) {
      this.#making = undefined;
      throw error;
    }
  }

  #nextSeed(seed: number | undefined): number | undefined {
    this.#episode = seed === undefined ? this.#episode + 1 : 0;
    this.#seed = seed ?? this.#seed;
    return this.#seed === undefined ? undefined : deriveSeed(this.#seed, this.#index, this.#episode);
  }

  #fail(cause: unknown, signal: AbortSignal | undefined): { error: EpisodeFailure } {
    const failed = { error: toEpisodeFailure(cause) };
    this.#outcome = failed;
    if (signal?.aborted) throw cause;
    return failed;
  }

  #notRunning(action: string): EpisodeFailure {
    return toEpisodeFailure(
      new Error(`Cannot ${action} element ${this.#index} as it has no running episode: reset it first`),
    );
  }
}

/** State of an element of a batch: the observation, or the failure of the episode. */
export type ResetOutcome =
  | { readonly observation: Observation; readonly error?: undefined }
  | { readonly error: EpisodeFailure; readonly observation?: undefined };

/** Outcome of an element's action: the step, or the failure that ended the episode. */
export type StepOutcome =
  | { readonly step: Step; readonly error?: undefined }
  | { readonly error: EpisodeFailure; readonly step?: undefined };
