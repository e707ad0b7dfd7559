import { type EpisodeFailure, toEpisodeFailure } from "../episode_failure.ts";
import { deriveSeed } from "../seeded_random.ts";
import type { Task } from "../task.ts";
import type { Action, Env, Observation, ResetOptions, StepOptions } from "./env.ts";
import type { ResetOutcome, StepOutcome } from "./vector_outcome.ts";

/** One element of a batch: its env and the state of its episode. Failures are data; an abort rejects. */
export class VectorElement implements AsyncDisposable {
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

  /** Outcome of the last reset or step: its observation, or its failure. */
  get outcome(): ResetOutcome {
    return this.#outcome;
  }

  /** Starts an episode. Its seed is derived from the last given seed, the element's index and the episode's number. */
  async reset(takeTask: () => Task | Promise<Task>, options: ResetOptions): Promise<ResetOutcome> {
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
