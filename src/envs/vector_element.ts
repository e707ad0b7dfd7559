import { type EpisodeFailure, episodeFailure } from "../episode_failure.ts";
import { derivedSeed } from "../seeded_random.ts";
import type { Task } from "../task.ts";
import type { Action, Env, Observation, ResetOptions, StepOptions } from "./env.ts";
import type { ResetOutcome, StepOutcome } from "./vector_outcome.ts";

/** One element of a batch: its env, and where its episode stands. What fails is data; an abort is not. */
export class VectorElement implements AsyncDisposable {
  readonly #index: number;
  readonly #makeEnv: (index: number) => Env | Promise<Env>;
  #making: Promise<Env> | undefined;
  #stand: ResetOutcome;
  #isGoing = false;
  #seed: number | undefined;
  #episode = 0;
  #disposal: Promise<void> | undefined;

  constructor(index: number, makeEnv: (index: number) => Env | Promise<Env>) {
    this.#index = index;
    this.#makeEnv = makeEnv;
    this.#stand = { error: this.#unready("observe") };
  }

  /** What the policy is to answer; `null` when no episode is going on. */
  get observation(): Observation | null {
    return this.#isGoing ? this.#stand.observation ?? null : null;
  }

  /** What the last reset or step left: its observation, or its failure. */
  get stand(): ResetOutcome {
    return this.#stand;
  }

  /** Starts an episode; its seed is made of the one that was given last, the element's number and the episode's. */
  async reset(takeTask: () => Task | Promise<Task>, options: ResetOptions): Promise<ResetOutcome> {
    const { signal } = options;
    const seed = this.#nextSeed(options.seed);
    this.#isGoing = false;
    try {
      const task = await takeTask();
      const observation = await (await this.#env()).reset(task, { seed, signal });
      this.#isGoing = true;
      return this.#stand = { observation };
    } catch (error) {
      return this.#fail(error, signal);
    }
  }

  /** Steps the episode that is going on. */
  async step(action: Action, options: StepOptions): Promise<StepOutcome> {
    if (!this.#isGoing) return { error: this.#unready("step") };
    this.#isGoing = false;
    try {
      const step = await (await this.#env()).step(action, options);
      this.#isGoing = !step.terminated && !step.truncated;
      this.#stand = { observation: step };
      return { step };
    } catch (error) {
      return this.#fail(error, options.signal);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposal ??= this.#dispose();
  }

  async #dispose(): Promise<void> {
    this.#isGoing = false;
    const env = await this.#making?.catch(() => undefined); // whoever wanted it was told
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
    return this.#seed === undefined ? undefined : derivedSeed(this.#seed, this.#index, this.#episode);
  }

  #fail(cause: unknown, signal: AbortSignal | undefined): { error: EpisodeFailure } {
    const failed = { error: episodeFailure(cause) };
    this.#stand = failed;
    if (signal?.aborted) throw cause;
    return failed;
  }

  #unready(what: string): EpisodeFailure {
    return episodeFailure(
      new Error(`Cannot ${what} element ${this.#index} as no episode is going on in it: reset it first`),
    );
  }
}
